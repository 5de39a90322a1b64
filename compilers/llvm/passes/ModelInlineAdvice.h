//===- ModelInlineAdvice.h - A decision and its remark ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_MODELINLINEADVICE_H
#define CBRIDGE_PASSES_MODELINLINEADVICE_H

#include "ModelInlineAdvisor.h"

namespace cbridge::passes {

/// What `-Rpass=` and `-Rpass-missed=` must name.
constexpr const char *RemarkPass = "cbridge";

/// A decision that tells what became of it, and why, in a remark.
class ModelInlineAdvice : public llvm::InlineAdvice {
public:
  /// Without a reason there is no remark.
  ModelInlineAdvice(ModelInlineAdvisor &Advisor, llvm::CallBase &CB,
                    llvm::OptimizationRemarkEmitter &ORE, bool Inline,
                    const PairCounts &Before, std::unique_ptr<InlineReason> Why)
      : InlineAdvice(&Advisor, CB, ORE, Inline), Before(Before),
        Why(std::move(Why)) {}

  void recordInliningImpl() override;
  void recordInliningWithCalleeDeletedImpl() override;
  void
  recordUnsuccessfulInliningImpl(const llvm::InlineResult &Result) override;
  void recordUnattemptedInliningImpl() override;

private:
  void tellAdvisor(bool CalleeDeleted);
  template <typename Remark>
  void remark(const char *Name, const char *What, const char *Cause = nullptr);

  const PairCounts Before;
  const std::unique_ptr<InlineReason> Why;
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_MODELINLINEADVICE_H
