//===- FunctionCounts.h - A function in numbers -----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_FUNCTIONCOUNTS_H
#define CBRIDGE_PASSES_FUNCTIONCOUNTS_H

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

namespace cbridge::passes {

/// What LLVM's inlining features tell of a function; they are the same as those
/// of its FunctionPropertiesInfo, without the dominators and loops that take
/// most of its time. Code that cannot be reached does not count.
struct FunctionCounts {
  int64_t Blocks = 0;
  int64_t ConditionalBlocks = 0; ///< targets of branches with a condition
  int64_t Users = 0;             ///< uses, and one if others may call it
  int64_t LocalCalls = 0;        ///< of functions with a body in this module
  int64_t Instructions = 0;
  int64_t Calls = 0;    ///< of whatever, but for intrinsics
  int64_t Accesses = 0; ///< loads and stores
  int64_t Allocas = 0;
  int64_t Frame = 0;    ///< bytes of variables in memory, of known size
  int64_t DeadEnds = 0; ///< blocks behind which the program does not go on
  llvm::SmallPtrSet<const llvm::BasicBlock *, 1> Unreachable;

  static FunctionCounts of(const llvm::Function &F);
};

/// The analysis manager forgets them as passes change the function. That others
/// stop using it does not count: features have always been told so.
class FunctionCountsAnalysis
    : public llvm::AnalysisInfoMixin<FunctionCountsAnalysis> {
public:
  using Result = FunctionCounts;
  Result run(llvm::Function &F, llvm::FunctionAnalysisManager &) {
    return FunctionCounts::of(F);
  }

private:
  friend llvm::AnalysisInfoMixin<FunctionCountsAnalysis>;
  static llvm::AnalysisKey Key;
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_FUNCTIONCOUNTS_H
