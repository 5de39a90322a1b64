//===- MLModelRunner.cpp - A thread's handle on a model -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include "runner/InferExtents.h"
#include "runner/ModelShared.h"
#include "runner/Recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cbridge {

/// What decisions must obey, one entry per output.
struct MLModelRunner::Legal {
  struct Rule {
    std::vector<unsigned char> Mask;
    bool HasRange = false;
    double Low = 0, High = 0;
    bool NotANumberPossible = false;

    bool onlyNumbers() const { return Mask.empty() && !HasRange; }
    bool applies() const {
      return !Mask.empty() || HasRange || NotANumberPossible;
    }
  };
  std::vector<Rule> Rules;
  bool Any = false;

  explicit Legal(const std::vector<TensorSpec> &Outputs)
      : Rules(Outputs.size()) {
    for (size_t I = 0; I < Outputs.size(); ++I)
      Rules[I].NotANumberPossible = Outputs[I].type() == ElementType::Float ||
                                    Outputs[I].type() == ElementType::Double;
    refresh();
  }
  void refresh() {
    Any = false;
    for (const Rule &R : Rules)
      Any |= R.applies();
  }
};

MLModelRunner::MLModelRunner(Model Of, std::unique_ptr<Engine> Made)
    : M(std::move(Of)), E(std::move(Made)),
      Slots(M.signature().inputs().size()),
      Rules(std::make_unique<Legal>(M.signature().outputs())) {
  if (M.S->Record)
    Log = std::make_unique<Recorder>(M.S->Record, M.signature());
  for (size_t I = 0; I < Slots.size(); ++I)
    refreshSlot(I);
}

MLModelRunner::MLModelRunner(MLModelRunner &&) noexcept = default;

MLModelRunner &MLModelRunner::operator=(MLModelRunner &&Other) noexcept {
  if (this != &Other) {
    this->~MLModelRunner();
    new (this) MLModelRunner(std::move(Other));
  }
  return *this;
}

MLModelRunner::~MLModelRunner() {
  if (!E) // moved from
    return;
  // A runner that goes away has nobody to tell about a failure.
  (void)endEpisode();
  if (Log)
    Log->settle();
  M.S->Decisions += Counts.Decisions;
  M.S->Fallbacks += Counts.Fallbacks;
  M.S->Illegal += Counts.Illegal;
}

void MLModelRunner::refreshSlot(size_t I, Span<const int64_t> Extents) {
  if (Log)
    Log->resized(I, Extents);
  MutableBytes Data = E->input(I);
  const TensorSpec &Spec = signature().inputs()[I];
  bool Usable = Data.data() || !Spec.isFixed() || Spec.elementCount() == 0;
  // A type that no getTensor asks for sends callers to misusedTensor.
  Slots[I] = {Data.data(), Data.size(),
              Usable ? Spec.type() : ElementType::String};
}

void MLModelRunner::misuse(Status Why) {
  if (Misuse.ok())
    Misuse = std::move(Why);
}

size_t MLModelRunner::featureIndex(std::string_view Name) {
  auto Found = M.S->InputIndex.find(Name);
  if (Found != M.S->InputIndex.end())
    return Found->second;
  if (Misuse.ok()) {
    std::string Known;
    for (const TensorSpec &Spec : signature().inputs())
      Known += (Known.empty() ? "" : ", ") + Spec.name();
    misuse(Status::error(StatusCode::InvalidArgument,
                         "there is no feature '" + std::string(Name) +
                             "'; the signature has " + Known));
  }
  return std::numeric_limits<size_t>::max();
}

MutableBytes MLModelRunner::misusedTensor(size_t I, ElementType Wanted) {
  std::string Call = "getTensor<" + std::string(toString(Wanted)) + ">(" +
                     std::to_string(I) + "): ";
  if (I >= Slots.size())
    misuse(Status::error(StatusCode::InvalidArgument,
                         Call + "there are " + std::to_string(Slots.size()) +
                             " features"));
  else
    misuse(Status::error(StatusCode::TypeMismatch,
                         Call + "'" + signature().inputs()[I].name() + "' is " +
                             signature().inputs()[I].typeAndShape()));
  // Writable, and large enough for whatever feature was meant, so that a wrong
  // call cannot crash the compiler.
  size_t Largest = 4096;
  for (size_t F = 0; F < Slots.size(); ++F)
    Largest = std::max(
        {Largest, Slots[F].Size, signature().inputs()[F].elementCount() * 8});
  Scratch.resize(std::max(Scratch.size(), Largest));
  return Scratch;
}

void MLModelRunner::resize(size_t I, Span<const int64_t> Extents) {
  if (I >= Slots.size())
    return misuse(
        Status::error(StatusCode::InvalidArgument,
                      "resize(" + std::to_string(I) + "): there are " +
                          std::to_string(Slots.size()) + " features"));
  if (Status S = E->resize(I, Extents); !S)
    return misuse(std::move(S));
  refreshSlot(I, Extents);
}

Status MLModelRunner::decide() {
  Latest = Failed;
  if (!Misuse.ok())
    return std::exchange(Misuse, Status());
  if (Log)
    Log->begin(Context);
  if (const Status *Why = M.S->closed())
    return *Why;
  Call C;
  C.Context = Context;
  C.Reward = PendingReward;
  PendingReward.reset();
  EpisodeOpen = true;
  if (Status S = E->run(C); !S) {
    if (S.isTransport())
      M.S->close(S);
    return S;
  }
  if (Rules->Any)
    if (Status S = checkLegal(); !S) {
      ++Counts.Illegal;
      return S;
    }
  ++Counts.Decisions;
  Latest = Decided;
  Last = Status();
  return Status();
}

template <typename T> static bool allNumbers(Span<const T> Values) {
  bool All = true;
  for (T Value : Values)
    All &= !std::isnan(Value);
  return All;
}

static bool allNumbers(const TensorView &V) {
  return V.Spec->type() == ElementType::Float ? allNumbers(V.as<float>())
                                              : allNumbers(V.as<double>());
}

Status MLModelRunner::checkLegal() {
  for (size_t O = 0; O < Rules->Rules.size(); ++O) {
    const Legal::Rule &R = Rules->Rules[O];
    if (!R.applies())
      continue;
    TensorView V = E->output(O);
    if (R.onlyNumbers() && allNumbers(V))
      continue;
    size_t ElementSize = sizeOf(V.Spec->type());
    size_t Count = ElementSize ? V.Data.size() / ElementSize : 0;
    for (size_t I = 0; I < Count; ++I) {
      Number N = Number::load(V.Spec->type(), V.Data.data() + I * ElementSize);
      const char *Why = nullptr;
      if (R.NotANumberPossible && std::isnan(N.real()))
        Why = " is not a number";
      else if (!R.Mask.empty() &&
               (!N.isIndexBelow(R.Mask.size()) || !R.Mask[size_t(N.real())]))
        Why = " is masked out";
      else if (R.HasRange && !N.isBetween(R.Low, R.High))
        Why = " is out of range";
      if (Why)
        return Status::error(StatusCode::IllegalDecision,
                             "decision '" + V.Spec->name() +
                                 "': " + N.toString() + Why);
    }
  }
  return Status();
}

void MLModelRunner::noteFallback(const Status &Why) {
  ++Counts.Fallbacks;
  Last = Why;
  M.S->report(Why);
}

Status MLModelRunner::reward(double Value) {
  if (!std::isfinite(Value))
    return Status::error(StatusCode::InvalidArgument,
                         "a reward must be finite");
  if (Log && Latest != Rewarded)
    Log->reward(Value);
  switch (Latest) {
  case Nothing:
    return Status::error(StatusCode::InvalidArgument,
                         "there is no decision to reward yet");
  case Rewarded:
    return Status::error(StatusCode::InvalidArgument,
                         "the latest decision has its reward already");
  case Failed: // the pass decided itself: the model does not learn from it
    break;
  case Decided:
    Latest = Rewarded;
    PendingReward = Value;
  }
  return Status();
}

void MLModelRunner::recordDecision() { Log->record(*E); }

void MLModelRunner::recordTensors(Span<const TensorView> Taken) {
  Log->record(*E, Taken);
}

void MLModelRunner::recordNumber(Number Taken) {
  const TensorSpec &Spec = signature().outputs()[0];
  unsigned char Element[8];
  if (signature().outputs().size() != 1 || !Spec.isFixed() ||
      Spec.elementCount() != 1 || !Taken.store(Spec.type(), Element))
    return;
  recordArray(Spec.type(), {Element, sizeOf(Spec.type())});
}

void MLModelRunner::recordArray(ElementType Type, Bytes Elements) {
  const TensorSpec &Spec = signature().outputs()[0];
  int64_t Extents[MaxRank];
  if (signature().outputs().size() != 1 || Spec.type() != Type ||
      !inferExtents(Spec, Elements.size() / sizeOf(Type), Extents))
    return;
  TensorView Taken = {&Spec, {Extents, Spec.shape().size()}, Elements};
  Log->record(*E, {&Taken, 1});
}

void MLModelRunner::recordStrings(Span<const std::string_view> Taken) {
  const TensorSpec &Spec = signature().outputs()[0];
  int64_t Extents[MaxRank];
  if (signature().outputs().size() != 1 || !Spec.isString() ||
      !inferExtents(Spec, Taken.size(), Extents))
    return;
  TensorStorage &Strings = Log->taken();
  if (Strings.setStrings(0, Taken, {Extents, Spec.shape().size()}).ok())
    Log->record(*E, Strings.views());
}

Status MLModelRunner::endEpisode(bool Truncated) {
  if (Log)
    Log->settle();
  if (!EpisodeOpen)
    return Status();
  EpisodeOpen = false;
  Latest = Nothing;
  Call C;
  C.Truncated = Truncated;
  C.Context = Context;
  C.Reward = std::exchange(PendingReward, std::nullopt);
  if (const Status *Why = M.S->closed())
    return *Why;
  Status S = E->endEpisode(C);
  if (S.isTransport())
    M.S->close(S);
  return S;
}

void MLModelRunner::setMask(Span<const bool> Mask, size_t Output) {
  if (Output >= Rules->Rules.size())
    return misuse(
        Status::error(StatusCode::InvalidArgument,
                      "setMask: there is no output " + std::to_string(Output)));
  Rules->Rules[Output].Mask.assign(Mask.begin(), Mask.end());
  Rules->refresh();
}

void MLModelRunner::setRange(double Low, double High, size_t Output) {
  if (Output >= Rules->Rules.size())
    return misuse(Status::error(StatusCode::InvalidArgument,
                                "setRange: there is no output " +
                                    std::to_string(Output)));
  Legal::Rule &R = Rules->Rules[Output];
  R.HasRange = true;
  R.Low = Low;
  R.High = High;
  Rules->refresh();
}

void MLModelRunner::clearRange(size_t Output) {
  if (Output < Rules->Rules.size())
    Rules->Rules[Output].HasRange = false;
  Rules->refresh();
}

} // namespace cbridge
