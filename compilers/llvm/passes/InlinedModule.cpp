//===- InlinedModule.cpp - A module while calls are inlined ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlinedModule.h"

#include "LlvmOption.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace cbridge::passes {

/// Whether a function is dead, but not yet gone: the analysis manager must not
/// get to know it again.
static bool isEmptied(const Function &F) {
  return F.isDeclaration() || isa<UnreachableInst>(F.getEntryBlock().front());
}

InlinedModule::InlinedModule(Module &M, ModuleAnalysisManager &MAM,
                             FunctionAnalysisManager &FAM)
    : FAM(FAM), Graph(MAM.getResult<LazyCallGraphAnalysis>(M)) {
  FAM.registerPass([] { return FunctionCountsAnalysis(); });
  for (Function &F : M)
    if (!F.isDeclaration())
      Size += counts(F).Instructions;
  // An option of LLVM's own: how many times its first size a module may have.
  MaxSize = optionOr("ml-advisor-size-increase-threshold", 2.0f) * double(Size);
  findHeights(M);
  for (auto [N, Height] : Heights) {
    Known.insert(N);
    Calls += localCalls(N->getFunction());
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
    Calls += localCalls(N->getFunction());
    unsigned Height = Heights.lookup(N);
    for (const LazyCallGraph::Edge &E : **N)
      if (Node Next = &E.getNode(); Known.insert(Next).second) {
        Heights[Next] = Height;
        Latest.insert(Next);
      }
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
      CallsOfLatest += localCalls(N->getFunction());
}

const FunctionCounts &InlinedModule::counts(Function &F) {
  auto [At, New] = Cache.try_emplace(&F);
  if (New)
    At->second = FAM.getResult<FunctionCountsAnalysis>(F);
  return At->second;
}

int64_t InlinedModule::localCalls(Function &F) {
  return isEmptied(F) ? 0 : counts(F).LocalCalls;
}

PairCounts InlinedModule::counts(Function &Caller, Function &Callee) {
  const FunctionCounts &Outer = counts(Caller), &Inner = counts(Callee);
  if (&Caller == &Callee)
    return {Outer.LocalCalls, Outer.Instructions};
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
    Latest.erase(Graph.lookup(Callee));
    Changed.erase(&Callee);
    Cache.erase(&Callee);
  } else {
    After = counts(Caller, Callee);
  }
  Calls += After.Calls - Before.Calls;
  Size += After.Instructions - Before.Instructions;
  Grown |= double(Size) > MaxSize;
}

int64_t InlinedModule::height(const Function &F) const {
  return Heights.lookup(Graph.lookup(F));
}

bool InlinedModule::isReachable(CallBase &CB) {
  return !counts(*CB.getCaller()).Unreachable.contains(CB.getParent());
}

} // namespace cbridge::passes
