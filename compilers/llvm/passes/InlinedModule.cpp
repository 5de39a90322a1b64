//===- InlinedModule.cpp - A module while calls are inlined ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlinedModule.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/CommandLine.h>

using namespace llvm;

namespace cbridge::passes {

/// How many times its first size a module may have: an option of LLVM's own.
static float growthLimit() {
  auto &Options = cl::getRegisteredOptions();
  auto Found = Options.find("ml-advisor-size-increase-threshold");
  if (Found == Options.end())
    return 2;
  return *static_cast<cl::opt<float> *>(Found->second);
}

InlinedModule::InlinedModule(Module &M, ModuleAnalysisManager &MAM,
                             FunctionAnalysisManager &FAM)
    : FAM(FAM), Graph(MAM.getResult<LazyCallGraphAnalysis>(M)) {
  FAM.registerPass([] { return FunctionCountsAnalysis(); });
  for (Function &F : M)
    if (!F.isDeclaration())
      Size += counts(F).Instructions;
  MaxSize = double(growthLimit()) * double(Size);
  findHeights(M);
  for (auto [N, Height] : Heights) {
    Known.insert(N);
    Calls += counts(N->getFunction()).LocalCalls;
  }
  Nodes = Known.size();
}

/// Callees come before their callers; those that call each other are one.
void InlinedModule::findHeights(Module &M) {
  CallGraph All(M);
  for (auto I = scc_begin(&All); !I.isAtEnd(); ++I) {
    unsigned Height = 0;
    for (const CallGraphNode *Caller : *I)
      for (const auto &[Call, Callee] : *Caller)
        if (Function *F = Callee->getFunction(); Call && F)
          if (auto At = Heights.find(Graph.lookup(*F)); At != Heights.end())
            Height = std::max(Height, At->second + 1);
    for (const CallGraphNode *Each : *I)
      if (Function *F = Each->getFunction(); F && !F->isDeclaration())
        Heights[&Graph.get(*F)] = Height;
  }
}

/// Function passes may have changed the functions where the inliner was. New
/// ones, which they make by splitting coroutines, are neighbours of those.
void InlinedModule::enter(LazyCallGraph::SCC &To) {
  Cache.clear();
  Nodes -= Latest.size();
  while (!Latest.empty()) {
    Node N = *Latest.begin();
    Latest.erase(N);
    if (N->isDead())
      continue;
    ++Nodes;
    Calls += counts(N->getFunction()).LocalCalls;
    for (const LazyCallGraph::Edge &E : **N)
      if (Node Next = &E.getNode(); Known.insert(Next).second)
        Latest.insert(Next);
  }
  Calls -= CallsOfLatest;
  CallsOfLatest = 0;
  for (LazyCallGraph::Node &N : To)
    Latest.insert(&N);
}

void InlinedModule::leave(LazyCallGraph::SCC &From) {
  auto Kept = PreservedAnalyses::all();
  Kept.abandon<FunctionCountsAnalysis>();
  for (Function *F : Changed)
    FAM.invalidate(*F, Kept);
  Changed.clear();
  Cache.clear(); // passes will change the functions
  for (LazyCallGraph::Node &N : From)
    Latest.insert(&N);
  SmallVector<Node> Were(Latest.begin(), Latest.end());
  CallsOfLatest = 0;
  for (Node N : Were)
    if (N->isDead())
      Latest.erase(N);
    else
      CallsOfLatest += counts(N->getFunction()).LocalCalls;
}

const FunctionCounts &InlinedModule::counts(Function &F) {
  auto [At, New] = Cache.try_emplace(&F);
  if (New)
    At->second = FAM.getResult<FunctionCountsAnalysis>(F);
  return At->second;
}

PairCounts InlinedModule::counts(Function &Caller, Function &Callee) {
  const FunctionCounts &Outer = counts(Caller), &Inner = counts(Callee);
  return {Outer.LocalCalls + Inner.LocalCalls,
          Outer.Instructions + Inner.Instructions};
}

void InlinedModule::noteInlined(Function &Caller, Function &Callee,
                                const PairCounts &Before, bool CalleeDeleted) {
  Changed.insert(&Caller);
  const FunctionCounts &Now = Cache[&Caller] = FunctionCounts::of(Caller);
  PairCounts After{Now.LocalCalls, Now.Instructions};
  if (CalleeDeleted) {
    --Nodes;
    Changed.erase(&Callee);
    Cache.erase(&Callee);
  } else {
    After = counts(Caller, Callee);
  }
  Calls += After.Calls - Before.Calls;
  Size += After.Instructions - Before.Instructions;
}

int64_t InlinedModule::height(const Function &F) const {
  return Heights.lookup(Graph.lookup(F));
}

bool InlinedModule::isReachable(CallBase &CB) {
  return !counts(*CB.getCaller()).Unreachable.contains(CB.getParent());
}

} // namespace cbridge::passes
