//===- AdviceRules.h - What LLVM takes for an answer ------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LLVM_INTERACTIVE_ADVICERULES_H
#define CBRIDGE_LLVM_INTERACTIVE_ADVICERULES_H

#include <cbridge/MLModelRunner.h>

namespace cbridge {

/// What stock LLVM takes for an answer without harm: it checks nothing, and an
/// eviction outside of the mask ends the compile. A value.
class AdviceRules {
public:
  /// What the compiler asks for is known by the name of its advice; of unknown
  /// advice everything is legal.
  enum class Kind { Unknown, Inlining, Eviction, Priority };

  AdviceRules() = default;
  explicit AdviceRules(const Signature &Sig);

  Kind kind() const { return K; }
  bool isLegal(Span<const TensorView> Features, Bytes Advice) const;
  /// Makes the runner refuse what is not legal.
  void restrict(MLModelRunner &Runner, Span<const TensorView> Features) const;
  /// Writes an answer that is legal, near what LLVM's own heuristic does.
  void writeDefault(Span<const TensorView> Features, MutableBytes Advice) const;

private:
  int64_t defaultEviction(Span<const TensorView> Features) const;
  float defaultPriority(Span<const TensorView> Features) const;

  Kind K = Kind::Unknown;
  /// Where the features are that rules and defaults need.
  size_t Mask = 0;
  std::optional<size_t> Weight, BrokenHints, Size, Stage;
};

} // namespace cbridge

#endif // CBRIDGE_LLVM_INTERACTIVE_ADVICERULES_H
