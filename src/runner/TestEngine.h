//===- TestEngine.h - An engine made of a function --------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_RUNNER_TESTENGINE_H
#define CBRIDGE_RUNNER_TESTENGINE_H

#include <cbridge/MLModelRunner.h>

#include <gtest/gtest.h>

namespace cbridge {

/// For tests: an engine whose run() is a function of the inputs.
class TestEngine : public BufferedEngine {
public:
  using Function = std::function<Status(const TensorStorage &Inputs,
                                        TensorStorage &Outputs, const Call &)>;

  TestEngine(const Signature &Sig, Function Run, Function End = nullptr)
      : BufferedEngine(Sig), Run(std::move(Run)), End(std::move(End)) {}
  Status run(const Call &C) override { return Run(Inputs, Outputs, C); }
  Status endEpisode(const Call &C) override {
    return End ? End(Inputs, Outputs, C) : Status();
  }

private:
  Function Run, End;
};

/// `test:`, whose engines all run Run and End.
inline Registry testScheme(const TestEngine::Function &Run,
                           const TestEngine::Function &End = nullptr) {
  Registry R;
  R.add({"test",
         "",
         {},
         [=](const RunnerString &,
             const Signature &Sig) -> Expected<EngineSource> {
           return EngineSource(
               [=] { return makeEngine<TestEngine>(Sig, Run, End); });
         }});
  return R;
}

inline Model openTest(Signature Sig, const TestEngine::Function &Run,
                      const TestEngine::Function &End = nullptr,
                      Model::FallbackSink Sink = nullptr) {
  Expected<Model> M = Model::open("test:", std::move(Sig), testScheme(Run, End),
                                  std::move(Sink));
  EXPECT_TRUE(M) << M.status().toString();
  return *M;
}

/// Sets element I of a tensor.
template <typename T>
void put(TensorStorage &Tensors, size_t Tensor, T Value, size_t I = 0) {
  ASSERT_EQ(Tensors.spec(Tensor).type(), elementTypeOf<T>());
  ASSERT_LE((I + 1) * sizeof(T), Tensors.bytes(Tensor).size());
  std::memcpy(Tensors.bytes(Tensor).data() + I * sizeof(T), &Value, sizeof(T));
}

} // namespace cbridge

#endif // CBRIDGE_RUNNER_TESTENGINE_H
