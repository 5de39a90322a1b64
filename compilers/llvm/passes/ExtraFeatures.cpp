//===- ExtraFeatures.cpp - What models may know beyond LLVM's 38 ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ExtraFeatures.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/BlockFrequencyInfo.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

using namespace llvm;

namespace cbridge::passes {

namespace {

/// More uses than these make no difference.
constexpr unsigned MostUses = 64;

StringRef nameOf(const Function &F) { return F.getName(); }
std::string_view viewOf(StringRef Text) { return {Text.data(), Text.size()}; }

/// Whether the function goes with its last use: 0 if others may call it, 1 if
/// they have copies of their own, 2 if nobody else can.
int64_t vanishes(const Function &F) {
  return F.hasLocalLinkage() ? 2 : F.isDiscardableIfUnused();
}

int64_t loopDepth(const CallSite &S) {
  return S.FAM.getResult<LoopAnalysis>(S.Caller).getLoopDepth(S.CB.getParent());
}

float frequency(const CallSite &S) {
  auto &Frequencies = S.FAM.getResult<BlockFrequencyAnalysis>(S.Caller);
  double Entry = Frequencies.getEntryFreq().getFrequency();
  double Call = Frequencies.getBlockFreq(S.CB.getParent()).getFrequency();
  return Entry > 0 ? static_cast<float>(Call / Entry) : 0;
}

/// The call could be a jump: nothing but a return of its result follows.
int64_t isTail(const CallSite &S) {
  const auto *Return =
      dyn_cast_or_null<ReturnInst>(S.CB.getNextNonDebugInstruction());
  return Return &&
         (!Return->getReturnValue() || Return->getReturnValue() == &S.CB);
}

int64_t forwarded(const CallSite &S) {
  return count_if(S.CB.args(), [&](const Use &Each) {
    const auto *Own = dyn_cast<Argument>(Each);
    return Own && Own->getArgNo() == S.CB.getArgOperandNo(&Each);
  });
}

int64_t locals(const CallSite &S) {
  return count_if(S.CB.args(), [](const Use &Each) {
    return isa<AllocaInst>(Each->stripInBoundsOffsets());
  });
}

constexpr ExtraFeature integer(const char *Name,
                               int64_t (*Compute)(const CallSite &)) {
  return {Name, ElementType::Int64, Compute, nullptr, nullptr};
}

using S = CallSite;
constexpr ExtraFeature Table[] = {
    integer("inlining_default",
            [](const S &C) -> int64_t { return C.Default; }),
    integer("callsite_loop_depth", loopDepth),
    {"callsite_frequency", ElementType::Float, nullptr, frequency, nullptr},
    integer("callee_instructions",
            [](const S &C) { return C.Inner.Instructions; }),
    integer("caller_instructions",
            [](const S &C) { return C.Outer.Instructions; }),
    integer("callee_calls", [](const S &C) { return C.Inner.Calls; }),
    integer("caller_calls", [](const S &C) { return C.Outer.Calls; }),
    integer("callee_accesses", [](const S &C) { return C.Inner.Accesses; }),
    integer("callee_allocas", [](const S &C) { return C.Inner.Allocas; }),
    integer("caller_accesses", [](const S &C) { return C.Outer.Accesses; }),
    integer("caller_allocas", [](const S &C) { return C.Outer.Allocas; }),
    integer("callee_frame", [](const S &C) { return C.Inner.Frame; }),
    integer("caller_frame", [](const S &C) { return C.Outer.Frame; }),
    integer("callee_dead_ends", [](const S &C) { return C.Inner.DeadEnds; }),
    integer("caller_dead_ends", [](const S &C) { return C.Outer.DeadEnds; }),
    integer("callee_nounwind",
            [](const S &C) -> int64_t { return C.Callee.doesNotThrow(); }),
    integer("callsite_is_invoke",
            [](const S &C) -> int64_t { return isa<InvokeInst>(C.CB); }),
    integer("callee_vanishes", [](const S &C) { return vanishes(C.Callee); }),
    integer("caller_vanishes", [](const S &C) { return vanishes(C.Caller); }),
    integer("callee_call_sites", [](const S &C) { return C.uses().Calls; }),
    integer("callee_call_sites_in_caller",
            [](const S &C) { return C.uses().CallsInCaller; }),
    integer("callee_other_uses", [](const S &C) { return C.uses().Others; }),
    integer("callsite_arguments",
            [](const S &C) -> int64_t { return C.CB.arg_size(); }),
    integer("callsite_forwarded_arguments", forwarded),
    integer("callsite_local_arguments", locals),
    integer("callsite_is_tail", isTail),
    integer("callsite_is_cold",
            [](const S &C) -> int64_t {
              return isa<UnreachableInst>(C.CB.getParent()->getTerminator());
            }),
    integer(
        "callsite_in_entry",
        [](const S &C) -> int64_t { return C.CB.getParent()->isEntryBlock(); }),
    integer("callsite_result_used",
            [](const S &C) -> int64_t { return !C.CB.use_empty(); }),
    {"caller_name", ElementType::String, nullptr, nullptr,
     [](const S &C) { return viewOf(nameOf(C.Caller)); }},
    {"callee_name", ElementType::String, nullptr, nullptr,
     [](const S &C) { return viewOf(nameOf(C.Callee)); }},
};

} // namespace

CallSite::CallSite(CallBase &CB, bool Default, InlinedModule &In,
                   FunctionAnalysisManager &FAM)
    : CB(CB), Caller(*CB.getCaller()), Callee(*CB.getCalledFunction()),
      Outer(In.counts(Caller)), Inner(In.counts(Callee)), Default(Default),
      FAM(FAM) {}

const CalleeUses &CallSite::uses() const {
  if (Counted)
    return *Counted;
  Counted.emplace();
  unsigned Seen = 0;
  for (const Use &Each : Callee.uses()) {
    if (++Seen > MostUses)
      break;
    const auto *Call = dyn_cast<CallBase>(Each.getUser());
    if (!Call || !Call->isCallee(&Each)) {
      ++Counted->Others;
      continue;
    }
    ++Counted->Calls;
    Counted->CallsInCaller += Call->getFunction() == &Caller;
  }
  return *Counted;
}

void ExtraFeature::write(MLModelRunner &Runner, size_t I,
                         const CallSite &Of) const {
  if (Integer)
    Runner.getTensor<int64_t>(I)[0] = Integer(Of);
  else if (Real)
    Runner.getTensor<float>(I)[0] = Real(Of);
  else
    setFeature(Runner, Name, Text(Of));
}

bool ExtraFeature::needsLoops() const { return Integer == loopDepth; }

ArrayRef<ExtraFeature> extraFeatures() { return Table; }

Expected<ExtraFeatures> parseExtraFeatures(std::string_view List) {
  SmallVector<StringRef> Names;
  StringRef(List.data(), List.size()).split(Names, ',', -1, false);
  bool All = is_contained(Names, "all");
  ExtraFeatures Chosen; // in their order, each once
  std::string Known;
  for (const ExtraFeature &Each : Table) {
    if ((All && Each.Type != ElementType::String) ||
        is_contained(Names, Each.Name))
      Chosen.push_back(&Each);
    Known += Each.Name + std::string(", ");
  }
  for (StringRef Name : Names)
    if (Name != "all" && none_of(Table, [&](const ExtraFeature &Each) {
          return Name == Each.Name;
        }))
      return Status::error(StatusCode::InvalidArgument,
                           "'" + Name.str() +
                               "' is no extra feature; there are " + Known +
                               "all");
  return Chosen;
}

ExtraFeatures extraFeaturesOf(const Signature &Model) {
  ExtraFeatures Wanted;
  for (const ExtraFeature &Each : Table)
    if (Model.inputIndex(Each.Name))
      Wanted.push_back(&Each);
  return Wanted;
}

ExtraFeatures joined(const ExtraFeatures &One, const ExtraFeatures &Other) {
  ExtraFeatures Both;
  for (const ExtraFeature &Each : Table)
    if (is_contained(One, &Each) || is_contained(Other, &Each))
      Both.push_back(&Each);
  return Both;
}

} // namespace cbridge::passes
