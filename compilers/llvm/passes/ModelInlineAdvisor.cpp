//===- ModelInlineAdvisor.cpp - Inlining as a model decides ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelInlineAdvice.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace cbridge::passes {

ModelInlineAdvisor::ModelInlineAdvisor(Module &M, ModuleAnalysisManager &MAM,
                                       FunctionAnalysisManager &FAM,
                                       const InlineModel &By,
                                       const InlineParams &Params,
                                       InlineContext IC)
    : InlineAdvisor(M, FAM), By(By), Params(Params),
      Default(M, FAM, Params, IC), In(M, MAM, FAM),
      Runner(By.model().runner()), // cbridge
      LooksAtLoops(any_of(By.extras(), [](const ExtraFeature *Each) {
        return Each->needsLoops();
      })) {
  // cbridge: begin
  Runner.setRange(0, 1);
  Runner.switchContext({M.getName().data(), M.getName().size()});
  // cbridge: end
  if (By.explain())
    Explain.emplace(By.model());
}

void ModelInlineAdvisor::onPassEntry(LazyCallGraph::SCC *SCC) {
  if (SCC && isAsking())
    In.enter(*SCC);
}

void ModelInlineAdvisor::onPassExit(LazyCallGraph::SCC *SCC) {
  if (SCC && isAsking())
    In.leave(*SCC);
  // Inliners of whole modules leave no call graph behind.
  Over |= !SCC;
}

void ModelInlineAdvisor::noteInlined(Function &Caller, Function &Callee,
                                     const PairCounts &Before,
                                     bool CalleeDeleted) {
  if (LooksAtLoops) {
    auto Changed = PreservedAnalyses::all();
    Changed.abandon<DominatorTreeAnalysis>();
    Changed.abandon<LoopAnalysis>();
    FAM.invalidate(Caller, Changed);
  }
  In.noteInlined(Caller, Callee, Before, CalleeDeleted);
}

std::unique_ptr<InlineAdvice>
ModelInlineAdvisor::tracked(CallBase &CB, bool Inline,
                            std::unique_ptr<InlineReason> Why) {
  return std::make_unique<ModelInlineAdvice>(
      *this, CB, getCallerORE(CB), Inline,
      In.counts(*CB.getCaller(), *CB.getCalledFunction()), std::move(Why));
}

std::unique_ptr<InlineAdvice> ModelInlineAdvisor::untracked(CallBase &CB,
                                                            bool Inline) {
  return std::make_unique<InlineAdvice>(this, CB, getCallerORE(CB), Inline);
}

std::unique_ptr<InlineAdvice>
ModelInlineAdvisor::getMandatoryAdvice(CallBase &CB, bool Advice) {
  return Advice && isAsking() ? tracked(CB, true) : untracked(CB, Advice);
}

std::unique_ptr<InlineAdvice> ModelInlineAdvisor::getAdviceImpl(CallBase &CB) {
  if (!isAsking())
    return adviceOfDefault(CB);
  // LLVM's advisor brings neither before a model, and refuses both.
  if (CB.getCaller() == CB.getCalledFunction() || !In.isReachable(CB))
    return tracked(CB, defaultDecision(CB, FAM, Params));
  CallCost Cost = costOf(CB, FAM, Params);
  if (Cost.Kind != CallCost::Variable)
    return getMandatoryAdvice(CB, Cost.Kind == CallCost::Always);
  return adviceOfModel(CB, Cost);
}

std::unique_ptr<InlineAdvice>
ModelInlineAdvisor::adviceOfDefault(CallBase &CB) {
  if (In.hasGrownTooMuch())
    getCallerORE(CB).emit([&] {
      return OptimizationRemarkAnalysis(RemarkPass, "Grown", &CB)
             << "LLVM's heuristic decides on '"
             << ore::NV("Callee", CB.getCalledFunction()) << "' in '"
             << ore::NV("Caller", CB.getCaller())
             << "': the module has grown too much for the model to be asked";
    });
  return Default.getAdvice(CB);
}

std::unique_ptr<InlineAdvice>
ModelInlineAdvisor::adviceOfModel(CallBase &CB, const CallCost &Cost) {
  fillFeatures(Runner, By.extras(), CB, Cost, In, FAM); // cbridge
  Expected<Decision> D = Runner.evaluate();             // cbridge
  std::unique_ptr<InlineReason> Why;
  if (getCallerORE(CB).allowExtraAnalysis(RemarkPass))
    Why = reason(Cost, D);
  // cbridge: begin
  if (D)
    return tracked(CB, D->get<int64_t>().valueOr(0) != 0, std::move(Why));
  if (By.isLost()) {
    Lost = true;
    Runner.noteFallback(D.status());
    return adviceOfDefault(CB);
  }
  Runner.noteFallback(D.status(), int64_t{Cost.Default});
  // cbridge: end
  return tracked(CB, Cost.Default, std::move(Why));
}

std::unique_ptr<InlineReason>
ModelInlineAdvisor::reason(const CallCost &Cost, const Expected<Decision> &D) {
  auto Why = std::make_unique<InlineReason>();
  Why->Runner = By.model().runnerString();
  if (!D) {
    Why->Fallback = D.status();
    return Why;
  }
  if (By.hasScore())
    if (Expected<float> Score = D->get<float>(ScoreName))
      Why->Score = *Score;
  Why->Default = Cost.Default;
  if (Explain)
    Why->Moved = Explain->explain(Runner, By.explain());
  return Why;
}

} // namespace cbridge::passes
