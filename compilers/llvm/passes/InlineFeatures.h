//===- InlineFeatures.h - What an inlining model is told --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_INLINEFEATURES_H
#define CBRIDGE_PASSES_INLINEFEATURES_H

#include "ExtraFeatures.h"

#include <llvm/Analysis/InlineModelFeatureMaps.h>

namespace llvm {
class CallBase;
struct InlineParams;
} // namespace llvm

namespace cbridge::passes {

/// A second output that a model may have: how sure it is, for remarks.
constexpr const char *ScoreName = "inlining_score";

/// LLVM's features, then Extras; the decision, then the score if it is wanted.
Signature inlineSignature(const ExtraFeatures &Extras, bool Score);

/// What LLVM knows of a call before anybody is asked.
struct CallCost {
  enum { Never, Always, Variable } Kind = Never;
  bool Default = false; ///< what LLVM's own heuristic decides
  int Estimate = 0;
  llvm::InlineCostFeatures Features{};
};

/// Analyses a call. LLVM does that three times for its features and its own
/// decision; where one time tells two of them, it is done twice.
CallCost costOf(llvm::CallBase &CB, llvm::FunctionAnalysisManager &FAM,
                const llvm::InlineParams &Params);

/// What LLVM's own heuristic decides about a call.
bool defaultDecision(llvm::CallBase &CB, llvm::FunctionAnalysisManager &FAM,
                     const llvm::InlineParams &Params);

/// Fills the features for a call.
void fillFeatures(MLModelRunner &Runner, const ExtraFeatures &Extras,
                  llvm::CallBase &CB, const CallCost &Cost, InlinedModule &In,
                  llvm::FunctionAnalysisManager &FAM);

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_INLINEFEATURES_H
