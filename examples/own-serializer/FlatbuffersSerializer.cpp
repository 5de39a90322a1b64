//===- FlatbuffersSerializer.cpp - Tensors as FlatBuffers -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FlatbuffersSerializer.h"

#include <algorithm>

using namespace cbridge;

static Status malformed(const std::string &Why) {
  return Status::error(StatusCode::Protocol, "FlatBuffers: " + Why);
}

static Status malformed(const TensorSpec &Spec, const std::string &Why) {
  return malformed("'" + Spec.name() + "': " + Why);
}

Status FlatbuffersSerializer::encode(Span<const TensorView> Tensors,
                                     Message &To) {
  // FlatBuffers asserts that nothing is larger.
  size_t Most = 4096;
  for (const TensorView &V : Tensors)
    Most +=
        256 + V.Data.size() + (V.Spec->isString() ? V.elementCount() * 8 : 0);
  if (Most >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Status::error(StatusCode::OutOfMemory,
                         "FlatBuffers hold less than 2 GiB");
  Builder.Clear();
  Tables.clear();
  for (const TensorView &V : Tensors) {
    auto Shape = Builder.CreateVector(V.Extents.data(), V.Extents.size());
    flatbuffers::Offset<flatbuffers::Vector<uint8_t>> Data;
    flatbuffers::Offset<
        flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>>
        Strings;
    if (V.Spec->isString()) {
      Texts.clear();
      for (size_t I = 0; I < V.elementCount(); ++I)
        Texts.push_back(
            Builder.CreateString(V.string(I).data(), V.string(I).size()));
      Strings = Builder.CreateVector(Texts);
    } else {
      Builder.ForceVectorAlignment(V.Data.size(), 1, TensorAlignment);
      Data = Builder.CreateVector(V.Data.data(), V.Data.size());
    }
    Tables.push_back(fb::CreateTensor(Builder, uint8_t(V.Spec->type()), Shape,
                                      Data, Strings));
  }
  fb::FinishSizePrefixedTensorsBuffer(
      Builder, fb::CreateTensors(Builder, Builder.CreateVector(Tables)));

  To.clear();
  unsigned char *Room = To.room(Builder.GetSize());
  if (!Room)
    return Status::error(StatusCode::OutOfMemory, "no memory for a message");
  std::memcpy(Room, Builder.GetBufferPointer(), Builder.GetSize());
  To.wrote(Builder.GetSize());
  return Status();
}

/// Copies the extents of a tensor, as many as fit: the verifier does not see to
/// it that elements are aligned.
static Span<const int64_t> readShape(const fb::Tensor &Sent,
                                     int64_t (&To)[MaxRank]) {
  size_t Rank =
      std::min<size_t>(Sent.shape() ? Sent.shape()->size() : 0, MaxRank);
  if (Rank)
    std::memcpy(To, Sent.shape()->Data(), Rank * sizeof(int64_t));
  return {To, Rank};
}

/// Checks a tensor; adds the memory that its strings need.
static Status check(const fb::Tensor &Sent, const TensorSpec &Spec,
                    Bytes Payload, size_t &Backing) {
  if (Sent.type() != uint8_t(Spec.type()))
    return Status::error(StatusCode::TypeMismatch,
                         "'" + Spec.name() + "': wanted " +
                             Spec.typeAndShape() + ", got another type");
  if (!Sent.shape() || Sent.shape()->size() > MaxRank)
    return malformed(Spec, "has no shape, or too long a one");
  int64_t Shape[MaxRank];
  Span<const int64_t> Extents = readShape(Sent, Shape);
  if (Status S = Spec.checkExtents(Extents); !S)
    return S;
  Expected<size_t> Count = elementCount(Extents);
  if (!Count)
    return malformed(Spec, Count.status().message());
  if (Spec.isString()) {
    if (!Sent.strings() || Sent.strings()->size() != *Count)
      return malformed(Spec, "its strings do not fill its shape");
    Backing += (*Count + 1) * sizeof(uint64_t);
    for (const flatbuffers::String *Text : *Sent.strings())
      Backing += Text->size();
    Backing = alignUp(Backing);
    // Several may share their bytes: a small message must not become large.
    if (Backing / 4 > Payload.size() + TensorAlignment)
      return malformed(Spec, "its strings are larger than the message");
    return Status();
  }
  size_t Size = Sent.data() ? Sent.data()->size() : 0;
  if (Size / sizeOf(Spec.type()) != *Count || Size % sizeOf(Spec.type()))
    return malformed(Spec, "its " + std::to_string(Size) +
                               " bytes do not fill its shape");
  if (Size && size_t(Sent.data()->Data() - Payload.data()) % TensorAlignment)
    return malformed(Spec, "is not aligned");
  for (size_t I = 0; Spec.type() == ElementType::Bool && I < Size; ++I)
    if (Sent.data()->Get(flatbuffers::uoffset_t(I)) > 1)
      return malformed(Spec, "a bool that is neither 0 nor 1");
  return Status();
}

/// Writes a string tensor to At; gives its bytes.
static Bytes build(const fb::Tensor &Sent, unsigned char *At) {
  uint64_t End = 0;
  unsigned char *Offset = At;
  unsigned char *Text = At + (Sent.strings()->size() + 1) * sizeof(End);
  auto PutOffset = [&] {
    std::memcpy(Offset, &End, sizeof(End));
    Offset += sizeof(End);
  };
  PutOffset();
  for (const flatbuffers::String *Each : *Sent.strings()) {
    std::memcpy(Text + End, Each->data(), Each->size());
    End += Each->size();
    PutOffset();
  }
  return {At, size_t(Text + End - At)};
}

Status FlatbuffersSerializer::decode(Bytes Payload, DecodedTensors &To) {
  if (Payload.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return malformed("a message of 2 GiB");
  if (reinterpret_cast<uintptr_t>(Payload.data()) % sizeof(uint64_t))
    return malformed("a message that is not aligned");
  // The payload comes from outside: nothing is read before this.
  flatbuffers::Verifier Verifier(Payload.data(), Payload.size());
  if (!fb::VerifySizePrefixedTensorsBuffer(Verifier))
    return malformed("not a message, or not all of it");
  auto *Sent = fb::GetSizePrefixedTensors(Payload.data())->tensors();
  size_t Count = Sent ? Sent->size() : 0;
  if (Count != To.Specs->size())
    return malformed(std::to_string(Count) + " tensors instead of " +
                     std::to_string(To.Specs->size()));

  size_t Backing = 0;
  for (size_t I = 0; I < Count; ++I)
    if (Status S = check(*Sent->Get(flatbuffers::uoffset_t(I)), (*To.Specs)[I],
                         Payload, Backing);
        !S)
      return S;
  if (Backing && !To.Backing.reserve(Backing, 0))
    return Status::error(StatusCode::OutOfMemory, "no memory for strings");
  unsigned char *At = To.Backing.data();
  for (size_t I = 0; I < Count; ++I) {
    const fb::Tensor &T = *Sent->Get(flatbuffers::uoffset_t(I));
    Bytes Data;
    if ((*To.Specs)[I].isString()) {
      Data = build(T, At);
      At += alignUp(Data.size());
    } else if (T.data() && T.data()->size()) {
      Data = {T.data()->Data(), T.data()->size()};
    }
    int64_t Shape[MaxRank];
    To.set(I, readShape(T, Shape), Data);
  }
  return Status();
}
