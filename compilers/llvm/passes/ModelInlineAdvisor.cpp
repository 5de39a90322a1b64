//===- ModelInlineAdvisor.cpp - Inlining as a model decides ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelInlineAdvice.h"

#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace cbridge::passes {

namespace {

std::unique_ptr<llvm::MLModelRunner> makeRunner(llvm::Module &M,
                                                const InlineModel &By) {
  // cbridge: begin
  // The heuristic needs the call at hand, and is therefore asked elsewhere.
  return std::make_unique<ModelRunnerAdapter<int64_t>>(
      M.getContext(), By.model(), [] { return 0; });
  // cbridge: end
}

} // namespace

ModelInlineAdvisor::ModelInlineAdvisor(llvm::Module &M,
                                       ModuleAnalysisManager &MAM,
                                       const InlineModel &By,
                                       const InlineParams &Params,
                                       InlineContext IC)
    : MLInlineAdvisor(M, MAM, makeRunner(M, By),
                      [this](CallBase &CB) {
                        return defaultDecision(CB, FAM, this->Params);
                      }),
      By(By), Params(Params), Default(M, FAM, Params, IC) {
  runner().setRange(0, 1);                 // cbridge
  ModelRunner->switchContext(M.getName()); // cbridge
  if (By.explain())
    Explain.emplace(By.model());
}

void ModelInlineAdvisor::onPassEntry(LazyCallGraph::SCC *SCC) {
  if (!Lost)
    MLInlineAdvisor::onPassEntry(SCC);
}

void ModelInlineAdvisor::onPassExit(LazyCallGraph::SCC *SCC) {
  if (!Lost)
    MLInlineAdvisor::onPassExit(SCC);
}

std::unique_ptr<InlineAdvice> ModelInlineAdvisor::getAdviceImpl(CallBase &CB) {
  if (!Lost)
    if (auto Advice = MLInlineAdvisor::getAdviceImpl(CB))
      return Advice;
  return Default.getAdvice(CB);
}

std::unique_ptr<InlineAdvice>
ModelInlineAdvisor::getMandatoryAdvice(CallBase &CB, bool Advice) {
  if (!Lost)
    return MLInlineAdvisor::getMandatoryAdvice(CB, Advice);
  // MLInlineAdvisor's would keep features up to date that nobody reads.
  // NOLINTNEXTLINE(bugprone-parent-virtual-call)
  return InlineAdvisor::getMandatoryAdvice(CB, Advice);
}

/// Nothing, once the model is lost: getAdviceImpl knows what to do then.
std::unique_ptr<MLInlineAdvice>
ModelInlineAdvisor::getAdviceFromModel(CallBase &CB,
                                       OptimizationRemarkEmitter &ORE) {
  fillExtraFeatures(runner(), By.extras(), CB, FAM, Params); // cbridge
  Expected<Decision> D = runner().evaluate();                // cbridge
  std::unique_ptr<InlineReason> Why;
  if (ORE.allowExtraAnalysis(RemarkPass))
    Why = reason(CB, D);
  // cbridge: begin
  if (D)
    return std::make_unique<ModelInlineAdvice>(
        *this, CB, ORE, D->get<int64_t>().valueOr(0) != 0, std::move(Why));
  if (By.isLost()) {
    Lost = true;
    runner().noteFallback(D.status());
    return nullptr;
  }
  int64_t Taken = GetDefaultAdvice(CB);
  runner().noteFallback(D.status(), Taken);
  // cbridge: end
  return std::make_unique<ModelInlineAdvice>(*this, CB, ORE, Taken != 0,
                                             std::move(Why));
}

std::unique_ptr<InlineReason>
ModelInlineAdvisor::reason(CallBase &CB, const Expected<Decision> &D) {
  auto Why = std::make_unique<InlineReason>();
  Why->Runner = By.model().runnerString();
  if (!D) {
    Why->Fallback = D.status();
    return Why;
  }
  if (By.hasScore())
    if (Expected<float> Score = D->get<float>(ScoreName))
      Why->Score = *Score;
  Why->Default = GetDefaultAdvice(CB);
  if (Explain)
    Why->Moved = Explain->explain(runner(), By.explain());
  return Why;
}

} // namespace cbridge::passes
