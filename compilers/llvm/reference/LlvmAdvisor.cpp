//===- LlvmAdvisor.cpp - LLVM's own ML inliner over our runners -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// A plugin that inlines by llvm::MLInlineAdvisor as it is, over the model that
// LLVM_ADVISOR_MODEL names: what it records is what our advisor should, and the
// time that it takes is what ours should not. It knows one thread.
#include <cbridge/passes/ModelRunnerAdapter.h>

#include <llvm/Analysis/InlineAdvisor.h>
#include <llvm/Analysis/InlineModelFeatureMaps.h>
#include <llvm/Analysis/MLInlineAdvisor.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <cstdlib>

using namespace llvm;

namespace {

ModuleAnalysisManager *Modules = nullptr; // one module per process here

const cbridge::Model &model() {
  static const cbridge::Model Opened = [] {
    std::vector<cbridge::TensorSpec> Inputs;
    for (const TensorSpec &Each : FeatureMap)
      Inputs.push_back(cbridge::passes::fromLLVM(Each));
    auto M = cbridge::Model::open(
        std::getenv("LLVM_ADVISOR_MODEL"),
        cbridge::Signature(std::move(Inputs),
                           cbridge::passes::fromLLVM(InlineDecisionSpec)));
    if (!M)
      report_fatal_error(M.status().message().c_str());
    return *M;
  }();
  return Opened;
}

InlineAdvisor *makeAdvisor(Module &M, FunctionAnalysisManager &, InlineParams,
                           InlineContext) {
  using Adapter = cbridge::passes::ModelRunnerAdapter<int64_t>;
  auto Runner =
      std::make_unique<Adapter>(M.getContext(), model(), [] { return 0; });
  Adapter &Asked = *Runner;
  auto *Made = new MLInlineAdvisor(M, *Modules, std::move(Runner),
                                   [](CallBase &) { return false; });
  Asked.switchContext(M.getName()); // it begins with one of no name
  return Made;
}

void registerCallbacks(PassBuilder &PB) {
  PB.registerAnalysisRegistrationCallback([](ModuleAnalysisManager &MAM) {
    Modules = &MAM;
    MAM.registerPass([] { return PluginInlineAdvisorAnalysis(makeAdvisor); });
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "LlvmAdvisor", "1", registerCallbacks};
}
