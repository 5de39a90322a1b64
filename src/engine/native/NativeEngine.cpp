//===- NativeEngine.cpp - An instance of a compiled model -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/native/NativeEngine.h"

#include "core/AlignedBuffer.h"

#include <algorithm>
#include <cstdlib>

namespace cbridge::native {

static std::string shown(const TensorSpec &Spec, Span<const int64_t> Extents) {
  return TensorSpec(Spec.name(), Spec.type(), {Extents.begin(), Extents.end()})
      .typeAndShape();
}

static Status tooLarge(const TensorSpec &Wanted, int64_t Extent,
                       const cbridge_native_symbol &S) {
  std::string Given = std::to_string(Extent);
  std::string Why = "input '" + Wanted.name() + "': " + Given;
  Why.append(", but the model was compiled for at most ")
      .append(std::to_string(S.maximum))
      .append(" (cbridge compile --max ")
      .append(S.name)
      .append("=" + Given + ")");
  return Status::error(StatusCode::ShapeMismatch, std::move(Why));
}

Status NativeModel::fitExtents(size_t I, Span<const int64_t> Extents,
                               Span<int64_t> Aligned) const {
  const TensorSpec &Wanted = Table.signature().inputs()[I];
  alignExtents(Extents, Aligned);
  Expected<size_t> Given = elementCount(Extents), Taken = elementCount(Aligned);
  if (!Given || !Taken || *Given != *Taken ||
      !Wanted.checkExtents(Aligned).ok())
    return Status::error(StatusCode::ShapeMismatch,
                         Who + ": input '" + Wanted.name() +
                             "': the model wants " + Wanted.typeAndShape() +
                             ", the pass gives " + shown(Wanted, Extents));
  const int32_t *Symbols = Table.inputs()[I].symbols;
  for (size_t D = 0; Symbols && D < Aligned.size(); ++D) {
    if (Symbols[D] < 0)
      continue;
    const cbridge_native_symbol &S = Table.symbols()[size_t(Symbols[D])];
    if (Aligned[D] > S.maximum)
      return tooLarge(Wanted, Aligned[D], S).withContext(Who);
  }
  return Status();
}

/// The specs of features that the model does not know.
static std::vector<TensorSpec> unknown(const NativeModel &Of) {
  std::vector<TensorSpec> Specs;
  for (size_t I = 0; I < Of.InputOf.size(); ++I)
    if (Of.InputOf[I] == NativeModel::None)
      Specs.push_back(Of.Pass.inputs()[I]);
  return Specs;
}

NativeEngine::NativeEngine(std::shared_ptr<const NativeModel> Of)
    : Of(std::move(Of)), Features(this->Of->InputOf.size()),
      Scratch(unknown(*this->Of)), Symbols(this->Of->Table.symbols().size()) {}

NativeEngine::~NativeEngine() {
  if (!Instance)
    return;
  Of->Table->destroy(Instance);
  std::free(Instance);
}

Status NativeEngine::prepare() {
  const NativeTable &T = Of->Table;
  if (!Scratch.status().ok())
    return Scratch.status();
  size_t Alignment = std::max(T->instance_alignment, TensorAlignment);
  void *Memory = std::aligned_alloc(
      Alignment, (T->instance_size + Alignment - 1) / Alignment * Alignment);
  if (!Memory)
    return Status::error(StatusCode::OutOfMemory,
                         Of->Who + ": no memory for the " +
                             std::to_string(T->instance_size) +
                             " bytes of an instance");
  T->construct(Memory, Of->Level);
  Instance = Memory;
  if (Of->Weights)
    T->use_weights(Instance, Of->Weights->payload());
  if (Status S = checkMemory(); !S)
    return S;

  for (size_t I = 0, Unknown = 0; I < Features.size(); ++I) {
    const TensorSpec &Spec = Of->Pass.inputs()[I];
    if (Of->InputOf[I] == NativeModel::None) {
      Features[I].Scratch = Unknown++;
      Features[I].Lent = Scratch.bytes(Features[I].Scratch);
      continue;
    }
    Extents Empty = {};
    for (size_t D = 0; D < Spec.shape().size(); ++D)
      Empty[D] = std::max(Spec.shape()[D], int64_t(0));
    setExtents(I, {Empty.data(), Spec.shape().size()});
  }

  OutputExtents.resize(Of->Fit.Outputs.size());
  for (size_t I = 0; I < Of->Fit.Outputs.size(); ++I) {
    Views.push_back({&Of->Pass.outputs()[I], {}, {}});
    if (!T.signature().outputs()[Of->Fit.Outputs[I]].isFixed())
      Varying.push_back(I);
    else if (Status S = fetchOutput(I); !S)
      return S;
  }
  return Status();
}

/// Whether the instance has the memory that its table promises.
Status NativeEngine::checkMemory() const {
  const NativeTable &T = Of->Table;
  auto Lacks = [&](const cbridge_native_port &Port) {
    return Port.capacity && !Port.data(Instance);
  };
  auto NoMemory = [&](const char *Kind, const TensorSpec &Spec) {
    return Status::error(StatusCode::Unsupported,
                         Of->Who + ": model " + T->name + ": " + Kind + " '" +
                             Spec.name() + "' has no memory");
  };
  for (size_t I = 0; I < T.inputs().size(); ++I)
    if (Lacks(T.inputs()[I]))
      return NoMemory("input", T.signature().inputs()[I]);
  for (size_t I = 0; I < T.outputs().size(); ++I)
    if (Lacks(T.outputs()[I]))
      return NoMemory("output", T.signature().outputs()[I]);
  return Status();
}

/// Lends the model's own memory for extents that it takes.
void NativeEngine::setExtents(size_t I, Span<const int64_t> To) {
  Feature &F = Features[I];
  size_t Input = Of->InputOf[I];
  const TensorSpec &Wanted = Of->Table.signature().inputs()[Input];
  Span<int64_t> Aligned(F.Aligned.data(), Wanted.shape().size());
  WrongCount -= !F.Wrong.ok();
  F.Wrong = Of->fitExtents(Input, To, Aligned);
  WrongCount += !F.Wrong.ok();
  F.Lent = {};
  if (!F.Wrong.ok())
    return;
  SymbolsStale = true;
  F.Lent = {
      static_cast<unsigned char *>(Of->Table.inputs()[Input].data(Instance)),
      *elementCount(Aligned) * sizeOf(Wanted.type())};
}

/// Lends memory for extents that the model does not take: until they change,
/// decisions fail, but whoever fills them harms nobody.
Status NativeEngine::lendMisfit(size_t I, Span<const int64_t> To) {
  Feature &F = Features[I];
  if (!F.Misfit)
    F.Misfit = std::make_unique<TensorStorage>(
        std::vector<TensorSpec>{Of->Pass.inputs()[I]});
  if (!F.Misfit->status().ok())
    return F.Misfit->status();
  if (Status S = F.Misfit->resize(0, To); !S)
    return S;
  F.Lent = F.Misfit->bytes(0);
  return Status();
}

Status NativeEngine::resize(size_t I, Span<const int64_t> To) {
  const TensorSpec &Spec = Of->Pass.inputs()[I];
  Feature &F = Features[I];
  if (F.Scratch != NativeModel::None) {
    Status S = Scratch.resize(F.Scratch, To);
    F.Lent = Scratch.bytes(F.Scratch);
    return S;
  }
  if (Status S = Spec.checkExtents(To); !S || Spec.isFixed())
    return S;
  setExtents(I, To);
  return F.Wrong.ok() ? Status() : lendMisfit(I, To);
}

Status NativeEngine::setStrings(size_t I, Span<const std::string_view> Values,
                                Span<const int64_t> To) {
  // No model has strings.
  Feature &F = Features[I];
  if (F.Scratch != NativeModel::None) {
    Status S = Scratch.setStrings(F.Scratch, Values, To);
    F.Lent = Scratch.bytes(F.Scratch);
    return S;
  }
  return Status::error(StatusCode::TypeMismatch,
                       "'" + Of->Pass.inputs()[I].name() + "' has no strings");
}

/// Tells the instance the extents that vary, on which all inputs must agree.
Status NativeEngine::setSymbols() {
  const NativeTable &T = Of->Table;
  std::fill(Symbols.begin(), Symbols.end(), int64_t(-1));
  for (size_t I = 0; I < T.inputs().size(); ++I) {
    const cbridge_native_port &Port = T.inputs()[I];
    const Feature &F = Features[Of->Fit.Inputs[I]];
    for (size_t D = 0; Port.symbols && D < Port.spec.rank; ++D) {
      if (Port.symbols[D] < 0)
        continue;
      auto Symbol = size_t(Port.symbols[D]);
      if (Symbols[Symbol] >= 0 && Symbols[Symbol] != F.Aligned[D])
        return Status::error(
            StatusCode::ShapeMismatch,
            Of->Who + ": input '" + T.signature().inputs()[I].name() +
                "': " + T.symbols()[Symbol].name + " is " +
                std::to_string(F.Aligned[D]) + " here and " +
                std::to_string(Symbols[Symbol]) + " in an input before it");
      Symbols[Symbol] = F.Aligned[D];
    }
  }
  for (size_t S = 0; S < Symbols.size(); ++S)
    T.symbols()[S].set(Instance, std::max(Symbols[S], int64_t(0)));
  SymbolsStale = false;
  return Status();
}

Status NativeEngine::run(const Call &) {
  for (size_t I = 0; WrongCount && I < Features.size(); ++I)
    if (!Features[I].Wrong.ok())
      return Features[I].Wrong;
  if (SymbolsStale)
    if (Status S = setSymbols(); !S)
      return S;
  if (const char *Why = Of->Table->evaluate(Instance))
    return Status::error(StatusCode::ModelError, Of->Who + ": " + Why);
  for (size_t I : Varying)
    if (Status S = fetchOutput(I); !S)
      return S;
  return Status();
}

/// Makes what the instance has for decision I what the pass sees.
Status NativeEngine::fetchOutput(size_t I) {
  size_t Output = Of->Fit.Outputs[I];
  const cbridge_native_port &Port = Of->Table.outputs()[Output];
  const TensorSpec &Given = Of->Table.signature().outputs()[Output];
  const TensorSpec &Spec = Of->Pass.outputs()[I];
  int64_t Theirs[MaxRank] = {};
  size_t Rank = Given.shape().size();
  if (Port.extents)
    Port.extents(Instance, Theirs);
  else
    std::copy_n(Given.shape().begin(), Rank, Theirs);
  Span<int64_t> Ours(OutputExtents[I].data(), Spec.shape().size());
  alignExtents({Theirs, Rank}, Ours);
  Expected<size_t> Count = elementCount({Theirs, Rank}),
                   Seen = elementCount(Ours);
  if (!Count || !Seen || *Count > Port.capacity || *Count != *Seen ||
      !Spec.checkExtents(Ours).ok())
    return Status::error(StatusCode::ShapeMismatch,
                         Of->Who + ": output '" + Spec.name() +
                             "': the model gives " +
                             shown(Given, {Theirs, Rank}) +
                             ", the pass wants " + Spec.typeAndShape());
  Views[I] = {&Spec, Ours,
              Bytes(static_cast<const unsigned char *>(Port.data(Instance)),
                    *Count * sizeOf(Spec.type()))};
  return Status();
}

} // namespace cbridge::native
