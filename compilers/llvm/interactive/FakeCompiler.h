//===- FakeCompiler.h - Asks as LLVM does, for tests ------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LLVM_INTERACTIVE_FAKECOMPILER_H
#define CBRIDGE_LLVM_INTERACTIVE_FAKECOMPILER_H

#include "log/LogHeader.h"
#include "os/Fifo.h"

#include <cbridge/Signature.h>

#include <gtest/gtest.h>

#include <cstring>

#include <fcntl.h>

namespace cbridge {

/// The bytes of one feature.
template <typename T> std::string raw(const std::vector<T> &Values) {
  return {reinterpret_cast<const char *>(Values.data()),
          Values.size() * sizeof(T)};
}

/// The header line, as LLVM writes it: without a score.
inline std::string headerOf(const Signature &Sig) {
  std::string Line = LogHeader::encode(Sig);
  // Of our logs, the decision is the last feature, and there is a score.
  size_t Last = Line.rfind(",{\"name\"", Line.find("],\"score\""));
  size_t Advice = Line.find("\"advice\"");
  return Line.substr(0, Last) + "]," + Line.substr(Advice);
}

inline std::string contextLine(const std::string &Name) {
  return "{\"context\":\"" + Name + "\"}\n";
}

inline std::string observation(uint64_t Ordinal, const std::string &Tensors) {
  return "{\"observation\":" + std::to_string(Ordinal) + "}\n" + Tensors + "\n";
}

/// Three positions; the last is the asking range itself.
inline Signature evictionSignature() {
  return Signature({TensorSpec::create<int64_t>("mask", {1, 3}),
                    TensorSpec::create<float>("use_def_density", {1, 3}),
                    TensorSpec::create<float>("nr_broken_hints", {1, 3})},
                   TensorSpec::create<int64_t>("index_to_evict"));
}
inline std::string evictionTensors(const std::vector<int64_t> &Mask,
                                   const std::vector<float> &Weights,
                                   const std::vector<float> &Hints = {0, 0,
                                                                      0}) {
  return raw(Mask) + raw(Weights) + raw(Hints);
}

inline Signature prioritySignature() {
  return Signature({TensorSpec::create<int64_t>("li_size"),
                    TensorSpec::create<int64_t>("stage"),
                    TensorSpec::create<float>("weight")},
                   TensorSpec::create<float>("priority"));
}
inline std::string priorityTensors(int64_t Size, int64_t Stage, float Weight) {
  return raw<int64_t>({Size, Stage}) + raw<float>({Weight});
}

/// The compiler's end of a channel. A host must be there: then nothing waits.
class FakeCompiler {
public:
  explicit FakeCompiler(const std::string &Base)
      : Answers(*os::openFifo(Base + ".in", O_RDONLY)),
        Questions(*os::openFifo(Base + ".out", O_WRONLY)) {}

  void write(const std::string &Text) {
    Bytes All(reinterpret_cast<const unsigned char *>(Text.data()),
              Text.size());
    os::Transfer T = os::writeSome(Questions.get(), {&All, 1});
    ASSERT_EQ(T.Kind, os::Transfer::Done);
    ASSERT_EQ(T.Size, Text.size());
  }
  /// The answer, which must be there.
  template <typename T> T answer() {
    unsigned char Bytes[sizeof(T)] = {};
    os::Transfer Got = os::readSome(Answers.get(), Bytes);
    EXPECT_EQ(Got.Kind, os::Transfer::Done);
    EXPECT_EQ(Got.Size, sizeof(T));
    T Value;
    std::memcpy(&Value, Bytes, sizeof(T));
    return Value;
  }
  bool hasAnswer() const { return os::bytesAvailable(Answers.get()) != 0; }

private:
  os::File Answers, Questions;
};

} // namespace cbridge

#endif // CBRIDGE_LLVM_INTERACTIVE_FAKECOMPILER_H
