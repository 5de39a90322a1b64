//===- ModelInlineAdvisor.h - Inlining as a model decides -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_MODELINLINEADVISOR_H
#define CBRIDGE_PASSES_MODELINLINEADVISOR_H

#include "Explanation.h"
#include "InlineModel.h"

#include <cbridge/passes/ModelRunnerAdapter.h>

#include <llvm/Analysis/InlineAdvisor.h>

namespace cbridge::passes {

/// Why a call is inlined or not, for remarks.
struct InlineReason {
  std::string Runner;
  std::optional<float> Score;
  bool Default = false; ///< what LLVM's heuristic would have done
  std::vector<Influence> Moved;
  Status Fallback; ///< why the model did not decide
};

/// Brings every call that LLVM may inline, but need not, before the model, with
/// the features that LLVM's MLInlineAdvisor would have. Once the model is lost
/// or the module has grown too much, the rest is left to LLVM's default
/// advisor.
class ModelInlineAdvisor : public llvm::InlineAdvisor {
public:
  ModelInlineAdvisor(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
                     llvm::FunctionAnalysisManager &FAM, const InlineModel &By,
                     const llvm::InlineParams &Params, llvm::InlineContext IC);

  void onPassEntry(llvm::LazyCallGraph::SCC *SCC) override;
  void onPassExit(llvm::LazyCallGraph::SCC *SCC) override;
  void noteInlined(llvm::Function &Caller, llvm::Function &Callee,
                   const PairCounts &Before, bool CalleeDeleted);

protected:
  std::unique_ptr<llvm::InlineAdvice>
  getAdviceImpl(llvm::CallBase &CB) override;
  std::unique_ptr<llvm::InlineAdvice> getMandatoryAdvice(llvm::CallBase &CB,
                                                         bool Advice) override;

private:
  std::unique_ptr<llvm::InlineAdvice> adviceOfModel(llvm::CallBase &CB,
                                                    const CallCost &Cost);
  std::unique_ptr<llvm::InlineAdvice> adviceOfDefault(llvm::CallBase &CB);
  std::unique_ptr<llvm::InlineAdvice>
  tracked(llvm::CallBase &CB, bool Inline,
          std::unique_ptr<InlineReason> Why = nullptr);
  std::unique_ptr<llvm::InlineAdvice> untracked(llvm::CallBase &CB,
                                                bool Inline);
  std::unique_ptr<InlineReason> reason(const CallCost &Cost,
                                       const Expected<Decision> &D);
  /// Whether there is anything to know of what the inliner does.
  bool isAsking() const { return !Lost && !Over && !In.hasGrownTooMuch(); }

  const InlineModel &By;
  const llvm::InlineParams Params;
  llvm::DefaultInlineAdvisor Default;
  InlinedModule In;
  MLModelRunner Runner;
  std::optional<Explainer> Explain;
  const bool LooksAtLoops;
  bool Lost = false, Over = false;
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_MODELINLINEADVISOR_H
