//===- ExtraFeatures.h - What models may know beyond LLVM's 38 --*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_EXTRAFEATURES_H
#define CBRIDGE_PASSES_EXTRAFEATURES_H

#include "InlinedModule.h"

#include <cbridge/MLModelRunner.h>

#include <llvm/ADT/ArrayRef.h>

#include <optional>

namespace llvm {
class CallBase;
}

namespace cbridge::passes {

/// Who uses a callee. Of functions with very many uses only some count.
struct CalleeUses {
  int64_t Calls = 0, CallsInCaller = 0, Others = 0;
};

/// A call that a model is asked about.
class CallSite {
public:
  CallSite(llvm::CallBase &CB, bool Default, InlinedModule &In,
           llvm::FunctionAnalysisManager &FAM);

  llvm::CallBase &CB;
  llvm::Function &Caller, &Callee;
  const FunctionCounts &Outer, &Inner; ///< of the caller, of the callee
  const bool Default;                  ///< what LLVM's own heuristic decides
  llvm::FunctionAnalysisManager &FAM;

  const CalleeUses &uses() const;

private:
  mutable std::optional<CalleeUses> Counted;
};

/// One feature. They cost time to compute: only models that want them are
/// given them.
struct ExtraFeature {
  const char *Name;
  ElementType Type; ///< Int64, Float or String
  int64_t (*Integer)(const CallSite &);
  float (*Real)(const CallSite &);
  std::string_view (*Text)(const CallSite &);

  TensorSpec spec() const { return TensorSpec(Name, Type, {1}); }
  void write(MLModelRunner &Runner, size_t I, const CallSite &Of) const;
  /// Whether it looks at loops, which have to be found anew as calls are
  /// inlined.
  bool needsLoops() const;
};

/// All of them, in the order in which they follow LLVM's.
llvm::ArrayRef<ExtraFeature> extraFeatures();

/// A selection, in that order.
using ExtraFeatures = std::vector<const ExtraFeature *>;

/// Those that a comma-separated list of names selects; 'all' are all numbers.
/// Fails with the name that is none.
Expected<ExtraFeatures> parseExtraFeatures(std::string_view List);
/// Those that Model takes.
ExtraFeatures extraFeaturesOf(const Signature &Model);
/// Those that are in one of two selections.
ExtraFeatures joined(const ExtraFeatures &One, const ExtraFeatures &Other);

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_EXTRAFEATURES_H
