//===- InferAsker.h - Ways to ask a benchmark's model -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_INFERASKER_H
#define CBRIDGE_BENCH_INFERASKER_H

#include "HandWritten.h"
#include "InferModel.h"
#ifdef CBRIDGE_BENCH_ORT
#include "BareOrt.h"
#endif

#include <cbridge/MLModelRunner.h>

namespace bench {

using namespace cbridge;

[[noreturn]] inline void fail(const Status &Why) {
  std::fprintf(stderr, "%s\n", Why.toString().c_str());
  std::exit(1);
}

/// A thread's own way to ask one model: writes the features, evaluates.
class Asker {
public:
  virtual ~Asker() = default;
  virtual Span<const float> ask(const float *Features) = 0;
};

class RunnerAsker : public Asker {
public:
  explicit RunnerAsker(const Model &M) : R(M.runner()) {
    for (const TensorSpec &Spec : M.signature().inputs())
      Sizes.push_back(Spec.elementCount());
  }
  Span<const float> ask(const float *Features) override {
    for (size_t I = 0; I < Sizes.size(); Features += Sizes[I++])
      std::memcpy(R.getTensor<float>(I).data(), Features,
                  Sizes[I] * sizeof(float));
    Expected<Span<const float>> Y = R.evaluate<Span<const float>>();
    if (!Y)
      fail(Y.status());
    return *Y;
  }

private:
  MLModelRunner R;
  std::vector<size_t> Sizes;
};

inline Model openModel(const std::string &Runner, const InferModel &I) {
  std::vector<TensorSpec> Inputs;
  for (const Tensor &T : I.Inputs)
    Inputs.push_back(TensorSpec::create<float>(T.Name, T.Shape));
  Expected<Model> M = Model::open(
      Runner, Signature(Inputs, TensorSpec::create<float>(I.Output.Name,
                                                          I.Output.Shape)));
  if (!M)
    fail(M.status());
  return *M;
}

#ifdef CBRIDGE_BENCH_ORT
class BareAsker : public Asker {
public:
  BareAsker(const BareSession &S, const InferModel &I)
      : Binding(S, I.Inputs, I.Output) {
    for (const Tensor &T : I.Inputs)
      Sizes.push_back(T.size());
  }
  Span<const float> ask(const float *Features) override {
    for (size_t I = 0; I < Sizes.size(); Features += Sizes[I++])
      std::memcpy(Binding.input(I), Features, Sizes[I] * sizeof(float));
    return Binding.run();
  }

private:
  BareBinding Binding;
  std::vector<size_t> Sizes;
};
#endif

class HandAsker : public Asker {
public:
  HandAsker(std::unique_ptr<HandWritten> Model, const InferModel &I)
      : Model(std::move(Model)), Size(I.Inputs[0].size()) {}
  Span<const float> ask(const float *Features) override {
    std::memcpy(Model->input(), Features, Size * sizeof(float));
    return {Model->run(), Model->outputs()};
  }

private:
  std::unique_ptr<HandWritten> Model;
  size_t Size;
};

/// Writes the features, which is in the time of all the others.
class CopyAsker : public Asker {
public:
  explicit CopyAsker(const InferModel &I) {
    size_t Size = 0;
    for (const Tensor &T : I.Inputs)
      Size += T.size();
    Memory.resize(Size);
  }
  Span<const float> ask(const float *Features) override {
    std::memcpy(Memory.data(), Features, Memory.size() * sizeof(float));
    return {Memory.data(), Memory.size()};
  }

private:
  std::vector<float> Memory;
};

/// Arithmetic alone, which threads share nothing of; about 2 µs.
class SpinAsker : public Asker {
public:
  Span<const float> ask(const float *) override {
    for (int I = 0; I < 500; ++I)
      Value = Value * 0.999f + 1.0f;
    return {&Value, 1};
  }

private:
  float Value = 0;
};

} // namespace bench

#endif // CBRIDGE_BENCH_INFERASKER_H
