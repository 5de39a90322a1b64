//===- ModelRunnerAdapter.h - LLVM's runner over ours -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_MODELRUNNERADAPTER_H
#define CBRIDGE_PASSES_MODELRUNNERADAPTER_H

#include <cbridge/MLModelRunner.h>

#include <llvm/Analysis/MLModelRunner.h>
#include <llvm/Analysis/TensorSpec.h>

namespace cbridge::passes {

/// LLVM's spec in our words. Its port, which TensorFlow alone knows, is lost.
inline TensorSpec fromLLVM(const llvm::TensorSpec &Spec) {
  auto Type = [&] {
    switch (Spec.type()) {
#define CBRIDGE_TYPE_CASE(T, Name)                                             \
  case llvm::TensorType::Name:                                                 \
    return elementTypeOf<T>();
      SUPPORTED_TENSOR_TYPES(CBRIDGE_TYPE_CASE)
#undef CBRIDGE_TYPE_CASE
    default: // LLVM makes no specs of other types
      return ElementType::UInt8;
    }
  };
  return TensorSpec(Spec.name(), Type(), Spec.shape());
}

/// An llvm::MLModelRunner over any runner of ours, for advisors and passes that
/// are written for LLVM's interface. LLVM's evaluate cannot fail: where the
/// model does not decide, Heuristic does.
///
/// The features are those of the model's signature, in its order; all of them
/// must be fixed. One per thread, like the runner that it owns.
template <typename T> class ModelRunnerAdapter : public llvm::MLModelRunner {
public:
  using HeuristicFn = std::function<T()>;

  ModelRunnerAdapter(llvm::LLVMContext &Ctx, const Model &M,
                     HeuristicFn Heuristic)
      : llvm::MLModelRunner(Ctx, Kind::Release, M.signature().inputs().size()),
        Runner(M.runner()), Heuristic(std::move(Heuristic)) {
    for (size_t I = 0; I < M.signature().inputs().size(); ++I) {
      const TensorSpec &Spec = M.signature().inputs()[I];
      assert(Spec.isFixed() && "LLVM's features have a fixed size");
      setUpBufferForTensor(
          I, llvm::TensorSpec::createSpec<uint8_t>(Spec.name(), {1}),
          Runner.getTensorUntyped(I).data());
    }
  }

  void switchContext(llvm::StringRef Name) override {
    Runner.switchContext({Name.data(), Name.size()});
  }

  /// The runner below: for the other outputs, rewards and counts.
  cbridge::MLModelRunner &runner() { return Runner; }
  /// Why the latest decision was Heuristic's; Ok if it was the model's.
  const Status &lastError() const { return Runner.lastError(); }

protected:
  void *evaluateUntyped() override {
    Advice = Runner.evaluateOr<T>([this] { return Heuristic(); });
    return &Advice;
  }

private:
  cbridge::MLModelRunner Runner;
  HeuristicFn Heuristic;
  T Advice{};
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_MODELRUNNERADAPTER_H
