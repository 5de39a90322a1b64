//===- FunctionCounts.cpp - A function in numbers -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FunctionCounts.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace cbridge::passes {

AnalysisKey FunctionCountsAnalysis::Key;

static int64_t conditionalTargets(const BasicBlock &BB) {
  const Instruction *Last = BB.getTerminator();
  if (const auto *Branch = dyn_cast<BranchInst>(Last))
    return Branch->isConditional() ? Branch->getNumSuccessors() : 0;
  const auto *Switch = dyn_cast<SwitchInst>(Last);
  return Switch ? Switch->getNumSuccessors() : 0;
}

static void add(FunctionCounts &To, const BasicBlock &BB) {
  ++To.Blocks;
  To.DeadEnds += isa<UnreachableInst>(BB.getTerminator());
  To.ConditionalBlocks += conditionalTargets(BB);
  for (const Instruction &I : BB) {
    const auto *Call = dyn_cast<CallBase>(&I);
    if (Call && isa<DbgInfoIntrinsic, PseudoProbeInst>(Call))
      continue;
    ++To.Instructions;
    To.Calls += Call && !isa<IntrinsicInst>(Call);
    To.Accesses += isa<LoadInst, StoreInst>(I);
    if (const auto *Variable = dyn_cast<AllocaInst>(&I)) {
      ++To.Allocas;
      auto Size = Variable->getAllocationSize(BB.getModule()->getDataLayout());
      if (Size && !Size->isScalable())
        To.Frame += static_cast<int64_t>(Size->getFixedValue());
    }
    if (const Function *Callee = Call ? Call->getCalledFunction() : nullptr)
      To.LocalCalls += !Callee->isDeclaration();
  }
}

FunctionCounts FunctionCounts::of(const Function &F) {
  FunctionCounts Counts;
  Counts.Users = F.getNumUses() + (F.hasLocalLinkage() ? 0 : 1);
  if (F.isDeclaration())
    return Counts;
  SmallVector<const BasicBlock *, 32> Next = {&F.getEntryBlock()};
  SmallPtrSet<const BasicBlock *, 32> Reached = {&F.getEntryBlock()};
  while (!Next.empty()) {
    const BasicBlock *BB = Next.pop_back_val();
    add(Counts, *BB);
    for (const BasicBlock *To : successors(BB))
      if (Reached.insert(To).second)
        Next.push_back(To);
  }
  if (Reached.size() != F.size())
    for (const BasicBlock &BB : F)
      if (!Reached.contains(&BB))
        Counts.Unreachable.insert(&BB);
  return Counts;
}

} // namespace cbridge::passes
