//===- AnalysisManagers.cpp - Which managers belong together --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AnalysisManagers.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Passes/PassBuilder.h>

#include <memory>
#include <mutex>

using namespace llvm;

namespace cbridge::passes {

namespace {

/// An entry outlives its managers, but cannot be mistaken for that of later
/// ones: whoever makes a manager at the same address fills it again.
struct Pairs {
  std::mutex Mutex;
  DenseMap<FunctionAnalysisManager *, ModuleAnalysisManager *> Of;
};

Pairs &pairs() {
  static auto &Only = *new Pairs; // never destroyed: compilers end as they like
  return Only;
}

struct Pair {
  ModuleAnalysisManager *OfModules = nullptr;
  FunctionAnalysisManager *OfFunctions = nullptr;

  /// Once both are known; what PB fills after that are other managers.
  void note() {
    if (!OfModules || !OfFunctions)
      return;
    std::lock_guard<std::mutex> Lock(pairs().Mutex);
    pairs().Of[OfFunctions] = OfModules;
    *this = Pair();
  }
};

} // namespace

void trackAnalysisManagers(PassBuilder &PB) {
  auto Latest = std::make_shared<Pair>();
  PB.registerAnalysisRegistrationCallback([Latest](ModuleAnalysisManager &M) {
    Latest->OfModules = &M;
    Latest->note();
  });
  PB.registerAnalysisRegistrationCallback([Latest](FunctionAnalysisManager &F) {
    Latest->OfFunctions = &F;
    Latest->note();
  });
}

ModuleAnalysisManager *moduleManagerOf(FunctionAnalysisManager &FAM) {
  std::lock_guard<std::mutex> Lock(pairs().Mutex);
  return pairs().Of.lookup(&FAM);
}

} // namespace cbridge::passes
