//===- Bitstream.cpp - Raw tensors ----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "serdes/bitstream/Bitstream.h"

#include <cstring>
#include <optional>

namespace cbridge {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "tensors travel as they lie in memory: little-endian");

namespace {

/// Extents, and for strings their size, of everything that is not fixed.
size_t shapeWords(const TensorSpec &Spec) {
  return Spec.isFixed() ? 0 : Spec.shape().size() + (Spec.isString() ? 1 : 0);
}

Status malformed(const TensorSpec &Spec, const std::string &Why) {
  return Status::error(StatusCode::Protocol,
                       "bitstream, '" + Spec.name() + "': " + Why);
}

/// Whether a tensor's bytes can be wrong, so that they must not change after
/// the check.
bool needsCheck(const TensorSpec &Spec) {
  return Spec.isString() || Spec.type() == ElementType::Bool;
}

Status checkContent(const TensorSpec &Spec, Bytes Data, size_t Count) {
  if (Spec.isString()) {
    if (Status S = checkStringTensor(Data, Count); !S)
      return malformed(Spec, S.message());
  } else if (Spec.type() == ElementType::Bool) {
    for (unsigned char Byte : Data)
      if (Byte > 1)
        return malformed(Spec, "a bool that is " + std::to_string(Byte));
  }
  return Status();
}

/// The tensors' part of a payload: one piece, or one and then lent ones. A
/// tensor lies in one piece.
class Pieces {
public:
  Pieces(Bytes First, Span<const Bytes> Lent) : Now(First), Rest(Lent) {
    for (Bytes Each : Lent)
      Left += Each.size();
    Left += First.size();
  }
  size_t left() const { return Left; }
  /// Size bytes and their padding; nothing if they are not in one piece.
  std::optional<Bytes> take(size_t Size) {
    if (Size && Now.empty() && !Rest.empty()) {
      Now = Rest[0];
      Rest = Rest.subspan(1, Rest.size() - 1);
      Lent = true;
    }
    if (alignUp(Size) > Now.size())
      return std::nullopt;
    Bytes Taken = Now.subspan(0, Size);
    Now = Now.subspan(alignUp(Size), Now.size() - alignUp(Size));
    Left -= alignUp(Size);
    return Taken;
  }
  /// Whether the latest tensor is in lent memory.
  bool lent() const { return Lent; }

private:
  Bytes Now;
  Span<const Bytes> Rest;
  size_t Left = 0;
  bool Lent = false;
};

} // namespace

Status Bitstream::encode(Span<const TensorView> Tensors, Message &To) {
  size_t Words = 0;
  for (const TensorView &V : Tensors)
    Words += shapeWords(*V.Spec);
  To.clear();
  if (Words) {
    size_t Size = alignUp(Words * sizeof(int64_t));
    unsigned char *At = To.room(Size);
    if (!At)
      return Status::error(StatusCode::OutOfMemory, "no memory for extents");
    std::memset(At, 0, Size);
    To.wrote(Size);
    auto Put = [&At](uint64_t Word) {
      std::memcpy(At, &Word, sizeof(Word));
      At += sizeof(Word);
    };
    for (const TensorView &V : Tensors) {
      if (V.Spec->isFixed())
        continue;
      for (int64_t Extent : V.Extents)
        Put(uint64_t(Extent));
      if (V.Spec->isString())
        Put(V.Data.size());
    }
  }
  for (const TensorView &V : Tensors)
    To.lend({V.Data.data(), alignUp(V.Data.size())});
  return Status();
}

Status Bitstream::decode(Bytes Payload, DecodedTensors &To) {
  return decodeLent(Payload, {}, To);
}

/// The common case: fixed tensors that need no check, in one piece.
static bool decodePlain(Bytes Payload, DecodedTensors &To) {
  size_t Total = 0;
  for (const TensorView &V : To.Views)
    Total += alignUp(V.Data.size());
  if (Total != Payload.size())
    return false;
  const unsigned char *At = Payload.data();
  for (TensorView &V : To.Views) {
    V.Data = {At, V.Data.size()};
    At += alignUp(V.Data.size());
  }
  return true;
}

Status Bitstream::decodeLent(Bytes Payload, Span<const Bytes> Lent,
                             DecodedTensors &To) {
  if (To.Plain) {
    if (Lent.empty() && decodePlain(Payload, To))
      return Status();
    if (Payload.empty() && Lent.size() == 1 && decodePlain(Lent[0], To))
      return Status();
  }
  size_t Words = 0;
  for (const TensorSpec &Spec : *To.Specs)
    Words += shapeWords(Spec);
  size_t Offset = alignUp(Words * sizeof(int64_t));
  if (Payload.size() < Offset)
    return Status::error(StatusCode::Protocol,
                         "bitstream: " + std::to_string(Payload.size()) +
                             " bytes are too few for the extents");
  const unsigned char *At = Payload.data();
  auto Take = [&At] {
    int64_t Word;
    std::memcpy(&Word, At, sizeof(Word));
    At += sizeof(Word);
    return Word;
  };
  Pieces From(Payload.subspan(Offset, Payload.size() - Offset), Lent);
  size_t Total = Offset + From.left();
  size_t Copied = 0;
  for (size_t I = 0; I < To.Specs->size(); ++I) {
    const TensorSpec &Spec = (*To.Specs)[I];
    Span<const int64_t> Extents = Spec.shape();
    int64_t Sent[MaxRank];
    if (!Spec.isFixed()) {
      for (size_t D = 0; D < Extents.size(); ++D)
        Sent[D] = Take();
      Extents = {Sent, Extents.size()};
      if (Status S = Spec.checkExtents(Extents); !S)
        return malformed(Spec, S.message());
    }
    Expected<size_t> Count = elementCount(Extents);
    if (!Count)
      return malformed(Spec, Count.status().message());
    uint64_t Size = Spec.isString() ? uint64_t(Take())
                                    : uint64_t(*Count) * sizeOf(Spec.type());
    if (Size > From.left() || alignUp(Size) > From.left())
      return malformed(Spec, "needs " + std::to_string(Size) +
                                 " bytes, the message has " +
                                 std::to_string(From.left()) + " left");
    std::optional<Bytes> Data = From.take(Size);
    if (!Data)
      return malformed(Spec, "is not in one piece");
    if (From.lent() && needsCheck(Spec)) {
      // As much as may still come, since what has been copied must not move.
      if (!To.Backing.reserve(Copied + alignUp(Size) + From.left(), Copied))
        return Status::error(StatusCode::Protocol,
                             "bitstream: no memory for a message");
      if (Size)
        std::memcpy(To.Backing.data() + Copied, Data->data(), Size);
      Data = Bytes(To.Backing.data() + Copied, Size);
      Copied += alignUp(Size);
    }
    if (Status S = checkContent(Spec, *Data, *Count); !S)
      return S;
    To.set(I, Extents, *Data);
  }
  if (From.left())
    return Status::error(StatusCode::Protocol,
                         "bitstream: the message has " + std::to_string(Total) +
                             " bytes, its tensors " +
                             std::to_string(Total - From.left()));
  return Status();
}

} // namespace cbridge
