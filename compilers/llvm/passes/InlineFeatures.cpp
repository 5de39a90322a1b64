//===- InlineFeatures.cpp - What an inlining model is told ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineFeatures.h"

#include <cbridge/passes/ModelRunnerAdapter.h>

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/InlineAdvisor.h>
#include <llvm/Analysis/InlineCost.h>
#include <llvm/Analysis/InlineModelFeatureMaps.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ProfileSummaryInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>

using namespace llvm;

namespace cbridge::passes {

namespace {

struct ExtraSpec {
  ExtraFeature Which;
  const char *Name;
  ElementType Type;
};
constexpr ExtraSpec ExtraSpecs[] = {
    {ExtraFeature::Default, "inlining_default", ElementType::Int64},
    {ExtraFeature::LoopDepth, "callsite_loop_depth", ElementType::Int64},
    {ExtraFeature::Frequency, "callsite_frequency", ElementType::Float},
};

const ExtraSpec &specOf(ExtraFeature F) {
  return ExtraSpecs[static_cast<size_t>(F)];
}

InlineCost inlineCost(CallBase &CB, FunctionAnalysisManager &FAM,
                      const InlineParams &Params) {
  auto Assumptions = [&](Function &F) -> AssumptionCache & {
    return FAM.getResult<AssumptionAnalysis>(F);
  };
  auto Library = [&](Function &F) -> const TargetLibraryInfo & {
    return FAM.getResult<TargetLibraryAnalysis>(F);
  };
  auto Frequencies = [&](Function &F) -> BlockFrequencyInfo & {
    return FAM.getResult<BlockFrequencyAnalysis>(F);
  };
  Function &Caller = *CB.getCaller();
  auto *Profile =
      FAM.getResult<ModuleAnalysisManagerFunctionProxy>(Caller)
          .getCachedResult<ProfileSummaryAnalysis>(*Caller.getParent());
  auto &Target = FAM.getResult<TargetIRAnalysis>(*CB.getCalledFunction());
  return getInlineCost(CB, Params, Target, Assumptions, Library, Frequencies,
                       Profile);
}

float frequency(CallBase &CB, FunctionAnalysisManager &FAM) {
  auto &Frequencies = FAM.getResult<BlockFrequencyAnalysis>(*CB.getCaller());
  double Entry = Frequencies.getEntryFreq().getFrequency();
  double Call = Frequencies.getBlockFreq(CB.getParent()).getFrequency();
  return Entry > 0 ? static_cast<float>(Call / Entry) : 0;
}

} // namespace

Expected<std::vector<ExtraFeature>> parseExtraFeatures(std::string_view List) {
  std::vector<ExtraFeature> Chosen;
  SmallVector<StringRef> Names;
  StringRef(List.data(), List.size()).split(Names, ',', -1, false);
  bool All = false;
  for (StringRef Name : Names) {
    bool Known = Name == "all";
    All |= Known;
    for (const ExtraSpec &Each : ExtraSpecs)
      Known |= Name == Each.Name;
    if (!Known)
      return Status::error(StatusCode::InvalidArgument,
                           "'" + Name.str() +
                               "' is no extra feature; there are "
                               "inlining_default, callsite_loop_depth, "
                               "callsite_frequency, all");
  }
  for (const ExtraSpec &Each : ExtraSpecs) // in their order, each once
    if (All || is_contained(Names, Each.Name))
      Chosen.push_back(Each.Which);
  return Chosen;
}

std::vector<ExtraFeature> extraFeaturesOf(const Signature &Model) {
  std::vector<ExtraFeature> Wanted;
  for (const ExtraSpec &Each : ExtraSpecs)
    if (Model.inputIndex(Each.Name))
      Wanted.push_back(Each.Which);
  return Wanted;
}

Signature inlineSignature(const std::vector<ExtraFeature> &Extras, bool Score) {
  std::vector<TensorSpec> Inputs, Outputs;
  for (const llvm::TensorSpec &Spec : FeatureMap)
    Inputs.push_back(fromLLVM(Spec));
  for (ExtraFeature Each : Extras)
    Inputs.emplace_back(specOf(Each).Name, specOf(Each).Type,
                        std::vector<int64_t>{1});
  Outputs.push_back(fromLLVM(InlineDecisionSpec));
  if (Score)
    Outputs.push_back(TensorSpec::create<float>(ScoreName));
  return Signature(std::move(Inputs), std::move(Outputs));
}

void fillExtraFeatures(cbridge::MLModelRunner &Runner,
                       const std::vector<ExtraFeature> &Extras, CallBase &CB,
                       FunctionAnalysisManager &FAM,
                       const InlineParams &Params) {
  size_t I = NumberOfFeatures;
  for (ExtraFeature Each : Extras) {
    switch (Each) {
    case ExtraFeature::Default:
      Runner.getTensor<int64_t>(I)[0] = defaultDecision(CB, FAM, Params);
      break;
    case ExtraFeature::LoopDepth:
      Runner.getTensor<int64_t>(I)[0] =
          FAM.getResult<LoopAnalysis>(*CB.getCaller())
              .getLoopDepth(CB.getParent());
      break;
    case ExtraFeature::Frequency:
      Runner.getTensor<float>(I)[0] = frequency(CB, FAM);
      break;
    }
    ++I;
  }
}

bool defaultDecision(CallBase &CB, FunctionAnalysisManager &FAM,
                     const InlineParams &Params) {
  // Only deferral (with profiles) is more than the cost; asking for it writes
  // LLVM's own remarks, which would stand beside those of what is done.
  if (!Params.EnableDeferral.value_or(false))
    return static_cast<bool>(inlineCost(CB, FAM, Params));
  auto Cost = [&](CallBase &Call) { return inlineCost(Call, FAM, Params); };
  auto &Emitter =
      FAM.getResult<OptimizationRemarkEmitterAnalysis>(*CB.getCaller());
  return shouldInline(CB, Cost, Emitter, true).has_value();
}

} // namespace cbridge::passes
