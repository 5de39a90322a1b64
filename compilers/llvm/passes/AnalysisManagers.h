//===- AnalysisManagers.h - Which managers belong together ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_ANALYSISMANAGERS_H
#define CBRIDGE_PASSES_ANALYSISMANAGERS_H

#include <llvm/IR/PassManager.h>

namespace llvm {
class PassBuilder;
}

namespace cbridge::passes {

/// Notes which managers PB fills. Thread-safe: under ThinLTO every thread has
/// pass builders of its own.
void trackAnalysisManagers(llvm::PassBuilder &PB);

/// The manager of modules that belongs to FAM; null if no pass builder that was
/// tracked has filled it. LLVM gives an advisor's factory that of functions
/// only.
llvm::ModuleAnalysisManager *moduleManagerOf(llvm::FunctionAnalysisManager &);

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_ANALYSISMANAGERS_H
