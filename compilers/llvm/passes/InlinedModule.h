//===- InlinedModule.h - A module while calls are inlined -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_INLINEDMODULE_H
#define CBRIDGE_PASSES_INLINEDMODULE_H

#include "FunctionCounts.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LazyCallGraph.h>

#include <map>

namespace cbridge::passes {

/// A caller and a callee before one is inlined into the other.
struct PairCounts {
  int64_t Calls = 0;
  int64_t Instructions = 0;
};

/// What LLVM's features tell of the whole module and of its functions, kept up
/// to date while calls are inlined and passes run in between. The numbers are
/// those that LLVM's MLInlineAdvisor would have.
class InlinedModule {
public:
  InlinedModule(llvm::Module &M, llvm::ModuleAnalysisManager &MAM,
                llvm::FunctionAnalysisManager &FAM);

  /// The inliner comes to these functions; it leaves them.
  void enter(llvm::LazyCallGraph::SCC &To);
  void leave(llvm::LazyCallGraph::SCC &From);

  const FunctionCounts &counts(llvm::Function &F);
  PairCounts counts(llvm::Function &Caller, llvm::Function &Callee);
  /// Brings all up to date after a call was inlined.
  void noteInlined(llvm::Function &Caller, llvm::Function &Callee,
                   const PairCounts &Before, bool CalleeDeleted);

  int64_t nodes() const { return Nodes; }
  int64_t calls() const { return Calls; }
  /// How far above the leaves of the first call graph a function was.
  int64_t height(const llvm::Function &F) const;
  bool isReachable(llvm::CallBase &CB);
  /// A model that inlines without end must be stopped.
  bool hasGrownTooMuch() const { return Grown; }

private:
  using Node = const llvm::LazyCallGraph::Node *;

  void findHeights(llvm::Module &M);
  int64_t localCalls(llvm::Function &F);

  llvm::FunctionAnalysisManager &FAM;
  llvm::LazyCallGraph &Graph;
  /// Of the functions at hand, as long as the inliner is at work.
  std::map<const llvm::Function *, FunctionCounts> Cache;
  /// Those of them that FAM knows as they were.
  llvm::SmallPtrSet<llvm::Function *, 4> Changed;
  llvm::DenseMap<Node, unsigned> Heights;
  llvm::DenseSet<Node> Known;
  llvm::SmallPtrSet<Node, 1> Latest; ///< where the inliner was
  int64_t Nodes = 0, Calls = 0, CallsOfLatest = 0;
  int64_t Size = 0;
  double MaxSize = 0;
  bool Grown = false;
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_INLINEDMODULE_H
