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
#include <llvm/Analysis/MLInlineAdvisor.h>

namespace cbridge::passes {

/// Why a call is inlined or not, for remarks.
struct InlineReason {
  std::string Runner;
  std::optional<float> Score;
  bool Default = false; ///< what LLVM's heuristic would have done
  std::vector<Influence> Moved;
  Status Fallback; ///< why the model did not decide
};

/// Brings every call that LLVM may inline, but need not, before the model.
/// LLVM's MLInlineAdvisor keeps the features; legality and mandatory inlining
/// are its. Once the model is lost, the rest of the module is left to LLVM's
/// default advisor.
class ModelInlineAdvisor : public llvm::MLInlineAdvisor {
public:
  ModelInlineAdvisor(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
                     const InlineModel &By, const llvm::InlineParams &Params,
                     llvm::InlineContext IC);

  void onPassEntry(llvm::LazyCallGraph::SCC *SCC) override;
  void onPassExit(llvm::LazyCallGraph::SCC *SCC) override;

protected:
  std::unique_ptr<llvm::InlineAdvice>
  getAdviceImpl(llvm::CallBase &CB) override;
  std::unique_ptr<llvm::InlineAdvice> getMandatoryAdvice(llvm::CallBase &CB,
                                                         bool Advice) override;
  std::unique_ptr<llvm::MLInlineAdvice>
  getAdviceFromModel(llvm::CallBase &CB,
                     llvm::OptimizationRemarkEmitter &ORE) override;

private:
  MLModelRunner &runner() {
    return static_cast<ModelRunnerAdapter<int64_t> &>(*ModelRunner).runner();
  }
  std::unique_ptr<InlineReason> reason(llvm::CallBase &CB,
                                       const Expected<Decision> &D);

  const InlineModel &By;
  const llvm::InlineParams Params;
  llvm::DefaultInlineAdvisor Default;
  std::optional<Explainer> Explain;
  bool Lost = false;
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_MODELINLINEADVISOR_H
