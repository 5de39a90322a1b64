//===- InlineFeatures.cpp - What an inlining model is told ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineFeatures.h"

#include "LlvmOption.h"

#include <cbridge/passes/ModelRunnerAdapter.h>

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/InlineAdvisor.h>
#include <llvm/Analysis/InlineCost.h>
#include <llvm/Analysis/InlineModelFeatureMaps.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>

using namespace llvm;

namespace cbridge::passes {

namespace {

bool defers(const InlineParams &Params) {
  return Params.EnableDeferral.value_or(optionOr("inline-deferral", false));
}

/// What LLVM's own functions tell of a call.
class CallAnalysis {
  auto assumptions() const {
    return [this](Function &F) -> AssumptionCache & {
      return FAM.getResult<AssumptionAnalysis>(F);
    };
  }
  auto library() const {
    return [this](Function &F) -> const TargetLibraryInfo & {
      return FAM.getResult<TargetLibraryAnalysis>(F);
    };
  }
  auto frequencies() const {
    return [this](Function &F) -> BlockFrequencyInfo & {
      return FAM.getResult<BlockFrequencyAnalysis>(F);
    };
  }
  TargetTransformInfo &target(CallBase &Of) const {
    return FAM.getResult<TargetIRAnalysis>(*Of.getCalledFunction());
  }

public:
  CallAnalysis(CallBase &CB, FunctionAnalysisManager &FAM)
      : CB(CB), FAM(FAM),
        Profile(
            FAM.getResult<ModuleAnalysisManagerFunctionProxy>(*CB.getCaller())
                .getCachedResult<ProfileSummaryAnalysis>(*CB.getModule())) {}

  bool hasProfile() const { return Profile && Profile->hasProfileSummary(); }

  InlineCost cost(CallBase &Of, const InlineParams &Params) const {
    return getInlineCost(Of, Params, target(Of), assumptions(), library(),
                         frequencies(), Profile);
  }
  InlineCost fullCost(InlineParams Params) const {
    Params.ComputeFullInlineCost = true;
    return cost(CB, Params);
  }
  std::optional<InlineResult> byAttributes() const {
    return getAttributeBasedInliningDecision(CB, CB.getCalledFunction(),
                                             target(CB), library());
  }
  std::optional<int> estimate() const {
    return getInliningCostEstimate(CB, target(CB), assumptions());
  }
  std::optional<InlineCostFeatures> features() const {
    return getInliningCostFeatures(CB, target(CB), assumptions());
  }
  bool defaultDecision(const InlineParams &Params) const {
    // Only deferral (with profiles) is more than the cost; asking for it writes
    // LLVM's own remarks, which would stand beside those of what is done.
    if (!defers(Params))
      return static_cast<bool>(cost(CB, Params));
    auto Cost = [&](CallBase &Of) { return cost(Of, Params); };
    auto &Emitter =
        FAM.getResult<OptimizationRemarkEmitterAnalysis>(*CB.getCaller());
    return shouldInline(CB, Cost, Emitter, true).has_value();
  }

private:
  CallBase &CB;
  FunctionAnalysisManager &FAM;
  ProfileSummaryInfo *Profile;
};

/// One by one, as LLVM does.
CallCost separateCost(const CallAnalysis &Of, const InlineParams &Params) {
  CallCost Cost;
  if (std::optional<InlineResult> Decided = Of.byAttributes()) {
    Cost.Kind = Decided->isSuccess() ? CallCost::Always : CallCost::Never;
    return Cost;
  }
  std::optional<int> Estimate = Of.estimate();
  std::optional<InlineCostFeatures> Features = Of.features();
  if (Estimate && Features)
    Cost = {CallCost::Variable, Of.defaultDecision(Params), *Estimate,
            *Features};
  return Cost;
}

} // namespace

Signature inlineSignature(const ExtraFeatures &Extras, bool Score) {
  std::vector<TensorSpec> Inputs, Outputs;
  for (const llvm::TensorSpec &Spec : FeatureMap)
    Inputs.push_back(fromLLVM(Spec));
  for (const ExtraFeature *Each : Extras)
    Inputs.push_back(Each->spec());
  Outputs.push_back(fromLLVM(InlineDecisionSpec));
  if (Score)
    Outputs.push_back(TensorSpec::create<float>(ScoreName));
  return Signature(std::move(Inputs), std::move(Outputs));
}

/// Whether the cost of the heuristic is LLVM's estimate, which knows neither
/// parameters nor frequencies.
static bool hasCostOfEstimate(const InlineCost &Cost,
                              const InlineCostFeatures &Features) {
  auto Has = [&](InlineCostFeatureIndex I) { return Features[size_t(I)] != 0; };
  // Calls that become direct ones lower the cost, by what depends on
  // parameters, and only for those who do not stop before. Rare calls get no
  // bonus.
  return !Has(InlineCostFeatureIndex::nested_inlines) &&
         Has(InlineCostFeatureIndex::last_call_to_static_bonus) ==
             (Cost.getStaticBonusApplied() != 0);
}

CallCost costOf(CallBase &CB, FunctionAnalysisManager &FAM,
                const InlineParams &Params) {
  CallAnalysis Of(CB, FAM);
  // Where there is a profile, cost is not all that counts.
  if (Of.hasProfile() || defers(Params))
    return separateCost(Of, Params);
  InlineCost Full = Of.fullCost(Params);
  CallCost Cost;
  if (!Full.isVariable()) {
    Cost.Kind = Full.isAlways() ? CallCost::Always : CallCost::Never;
    return Cost;
  }
  std::optional<InlineCostFeatures> Features = Of.features();
  if (!Features)
    return Cost;
  if (!hasCostOfEstimate(Full, *Features))
    return separateCost(Of, Params);
  return {CallCost::Variable, static_cast<bool>(Full), Full.getCost(),
          *Features};
}

bool defaultDecision(CallBase &CB, FunctionAnalysisManager &FAM,
                     const InlineParams &Params) {
  return CallAnalysis(CB, FAM).defaultDecision(Params);
}

void fillFeatures(cbridge::MLModelRunner &Runner, const ExtraFeatures &Extras,
                  CallBase &CB, const CallCost &Cost, InlinedModule &In,
                  FunctionAnalysisManager &FAM) {
  Function &Caller = *CB.getCaller(), &Callee = *CB.getCalledFunction();
  const FunctionCounts &Outer = In.counts(Caller), &Inner = In.counts(Callee);
  auto Set = [&](FeatureIndex I, int64_t Value) {
    Runner.getTensor<int64_t>(static_cast<size_t>(I))[0] = Value;
  };
  for (size_t I = 0; I < Cost.Features.size(); ++I) // they come first
    Set(FeatureIndex(I), Cost.Features[I]);
  Set(FeatureIndex::callee_basic_block_count, Inner.Blocks);
  Set(FeatureIndex::callsite_height, In.height(Caller));
  Set(FeatureIndex::node_count, In.nodes());
  Set(FeatureIndex::nr_ctant_params,
      count_if(CB.args(), [](const Use &Each) { return isa<Constant>(Each); }));
  Set(FeatureIndex::cost_estimate, Cost.Estimate);
  Set(FeatureIndex::edge_count, In.calls());
  Set(FeatureIndex::caller_users, Outer.Users);
  Set(FeatureIndex::caller_conditionally_executed_blocks,
      Outer.ConditionalBlocks);
  Set(FeatureIndex::caller_basic_block_count, Outer.Blocks);
  Set(FeatureIndex::callee_conditionally_executed_blocks,
      Inner.ConditionalBlocks);
  Set(FeatureIndex::callee_users, Inner.Users);
  Set(FeatureIndex::is_callee_avail_external,
      Callee.hasAvailableExternallyLinkage());
  Set(FeatureIndex::is_caller_avail_external,
      Caller.hasAvailableExternallyLinkage());
  if (Extras.empty())
    return;
  CallSite Of(CB, Cost.Default, In, FAM);
  size_t I = NumberOfFeatures;
  for (const ExtraFeature *Each : Extras)
    Each->write(Runner, I++, Of);
}

} // namespace cbridge::passes
