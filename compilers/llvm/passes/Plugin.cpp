//===- Plugin.cpp - What opt, clang and lld load --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AnalysisManagers.h"
#include "ModelInlineAdvisor.h"
#include "Settings.h"

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

using namespace llvm;
using namespace cbridge::passes;

namespace {

InlineAdvisor *makeInlineAdvisor(Module &M, FunctionAnalysisManager &FAM,
                                 InlineParams Params, InlineContext IC) {
  const InlineModel &By = InlineModel::ofProcess();
  ModuleAnalysisManager *MAM = moduleManagerOf(FAM);
  if (!MAM || !By.wantsCalls())
    return new DefaultInlineAdvisor(M, FAM, Params, IC);
  return new ModelInlineAdvisor(M, *MAM, FAM, By, Params, IC);
}

void registerCallbacks(PassBuilder &PB) {
  // Nothing configured, nothing changed.
  if (valueOf(Setting::InlineModel).empty())
    return;
  trackAnalysisManagers(PB);
  PB.registerAnalysisRegistrationCallback([](ModuleAnalysisManager &MAM) {
    MAM.registerPass(
        [] { return PluginInlineAdvisorAnalysis(makeInlineAdvisor); });
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "CompilerBridge", CBRIDGE_VERSION,
          registerCallbacks};
}
