//===- ModelInlineAdvice.cpp - A decision and its remark ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelInlineAdvice.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Support/Format.h>

using namespace llvm;
using ore::NV;

namespace cbridge::passes {

namespace {

std::string text(double Value, const char *Format = "%.6g") {
  std::string Made;
  raw_string_ostream(Made) << format(Format, Value);
  return Made;
}

template <typename Remark> void tellReason(Remark &R, const InlineReason &Why) {
  if (!Why.Fallback.ok()) {
    R << " by LLVM's heuristic, since " << NV("Model", Why.Runner)
      << " did not decide: " << NV("Fallback", Why.Fallback.message());
    return;
  }
  R << " by " << NV("Model", Why.Runner);
  if (Why.Score)
    R << ", score " << NV("Score", text(*Why.Score));
  R << "; LLVM's heuristic "
    << NV("Default", Why.Default ? "would" : "would not");
}

} // namespace

template <typename Remark>
void ModelInlineAdvice::remark(const char *Name, const char *What,
                               const char *Cause) {
  if (!Why)
    return;
  ORE.emit([&] {
    Remark R(RemarkPass, Name, DLoc, Block);
    R << "'" << NV("Callee", Callee->getName()) << "' " << What << " '"
      << NV("Caller", Caller->getName()) << "'";
    tellReason(R, *Why);
    const char *Lead = "; moved by ";
    for (const Influence &Each : Why->Moved) {
      StringRef Feature(Each.Feature.data(), Each.Feature.size());
      R << std::exchange(Lead, ", ") << Feature << "="
        << NV(Feature, text(Each.Value));
      if (Why->Score)
        R << " (" << text(Each.Moved, "%+.3g") << ")";
    }
    if (Cause)
      R << "; LLVM could not: " << NV("Cause", Cause);
    return R;
  });
}

void ModelInlineAdvice::tellAdvisor(bool CalleeDeleted) {
  static_cast<ModelInlineAdvisor *>(Advisor)->noteInlined(
      *Caller, *Callee, Before, CalleeDeleted);
}

void ModelInlineAdvice::recordInliningImpl() {
  tellAdvisor(false);
  remark<OptimizationRemark>("Inlined", "inlined into");
}

void ModelInlineAdvice::recordInliningWithCalleeDeletedImpl() {
  tellAdvisor(true);
  remark<OptimizationRemark>("InlinedAndDeleted", "inlined into");
}

void ModelInlineAdvice::recordUnsuccessfulInliningImpl(
    const InlineResult &Result) {
  remark<OptimizationRemarkMissed>("NotPossible", "not inlined into",
                                   Result.getFailureReason());
}

void ModelInlineAdvice::recordUnattemptedInliningImpl() {
  remark<OptimizationRemarkMissed>("NotInlined", "not inlined into");
}

} // namespace cbridge::passes
