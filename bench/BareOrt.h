//===- BareOrt.h - ONNX Runtime without anything of ours --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The floor of `onnx:`: the C API by hand, with the same library and the same
// options. A failure ends the program.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_BAREORT_H
#define CBRIDGE_BENCH_BAREORT_H

#include "InferModel.h"

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>
#include <vector>

namespace bench {

/// One session for all threads, in the library that CBRIDGE_ONNXRUNTIME names,
/// which stays loaded.
class BareSession {
public:
  explicit BareSession(const std::string &File);
  ~BareSession();
  BareSession(const BareSession &) = delete;
  BareSession &operator=(const BareSession &) = delete;

  OrtSession *get() const { return Session; }

private:
  OrtSession *Session = nullptr;
};

/// A thread's own: buffers bound to a session's inputs and to its output.
class BareBinding {
public:
  BareBinding(const BareSession &S, const std::vector<Tensor> &Inputs,
              const Tensor &Output);
  ~BareBinding();
  BareBinding(const BareBinding &) = delete;
  BareBinding &operator=(const BareBinding &) = delete;

  float *input(size_t I) { return Buffers[I].get(); }
  cbridge::Span<const float> run();
  /// Binds input 0 anew with one extent: a view of the same buffer, which must
  /// be large enough.
  void resizeInput(const std::vector<int64_t> &Shape);

private:
  struct Free {
    void operator()(float *P) const;
  };
  OrtValue *makeValue(const Tensor &T, std::unique_ptr<float, Free> &Buffer);

  OrtSession *Session;
  OrtIoBinding *Binding = nullptr;
  OrtRunOptions *Options = nullptr;
  OrtMemoryInfo *Memory = nullptr;
  std::vector<OrtValue *> Values;
  std::vector<std::unique_ptr<float, Free>> Buffers; // the output's is the last
  std::string FirstName;
  size_t OutputSize;
};

} // namespace bench

#endif // CBRIDGE_BENCH_BAREORT_H
