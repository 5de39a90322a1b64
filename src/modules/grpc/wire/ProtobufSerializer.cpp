//===- ProtobufSerializer.cpp - Tensors as Protocol Buffers ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/wire/ProtobufSerializer.h"

#include "core/Wire.h"

#include <algorithm>

namespace cbridge {

using wire::Type;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "tensors travel as they lie in memory: little-endian");

namespace {

/// Field numbers of proto/compiler_bridge.proto.
enum : unsigned { TensorsTensor = 1 };
enum : unsigned {
  TensorName = 1,
  TensorType = 2,
  TensorShape = 3,
  TensorPadding = 4,
  TensorData = 5,
  TensorStrings = 6
};

/// Smaller tensors are copied; the padding would cost more.
constexpr size_t LendFrom = 1024;

uint64_t typeNumber(ElementType T) { return uint64_t(T) + 1; }
std::string typeName(uint64_t Number) {
  if (Number == 0)
    return "no type";
  if (Number > typeNumber(ElementType::String))
    return "type " + std::to_string(Number);
  return std::string(toString(ElementType(Number - 1)));
}

Status malformed(const std::string &Why) {
  return Status::error(StatusCode::Protocol, "protobuf: " + Why);
}

Status malformed(const TensorSpec &Spec, const std::string &Why) {
  return malformed("'" + Spec.name() + "': " + Why);
}

Status noMemory() {
  return Status::error(StatusCode::OutOfMemory, "no memory for a message");
}

/// The sizes of one tensor's message.
struct Layout {
  size_t Shape = 0;   // the packed extents
  size_t Fields = 0;  // all before padding and data
  size_t Padding = 0; // zeros; there is no field if Data is not padded
  size_t Whole = 0;   // without its own tag and length
  bool Named = false;
  bool Padded = false;

  explicit Layout(const TensorView &V) {
    const std::string &Name = V.Spec->name();
    // Others would refuse the message; the position says it as well.
    Named = wire::isUtf8(Name);
    Fields = Named ? wire::bytesSize(Name.size()) : 0;
    Fields += wire::TagSize + wire::varintSize(typeNumber(V.Spec->type()));
    for (int64_t Extent : V.Extents)
      Shape += wire::varintSize(uint64_t(Extent));
    Fields += Shape ? wire::bytesSize(Shape) : 0;
    if (V.Spec->isString()) {
      Whole = Fields;
      for (size_t I = 0; I < V.elementCount(); ++I)
        Whole += wire::bytesSize(V.string(I).size());
      return;
    }
    Padded = V.Data.size() >= LendFrom;
    sum(V);
  }

  /// Puts the data at a multiple of 64 bytes; the tensor begins at Start.
  void align(const TensorView &V, size_t Start) {
    auto At = [&](size_t Length) { // of the data, without zeros
      return Start + wire::TagSize + Length + Fields + 2 * wire::TagSize + 1 +
             wire::varintSize(V.Data.size());
    };
    size_t Shortest = wire::varintSize(Whole);
    for (size_t Length : {Shortest, Shortest + 1}) {
      Padding = alignUp(At(Length)) - At(Length);
      sum(V);
      if (wire::varintSize(Whole) == Length)
        return;
    }
    // Each would need the other's: more zeros make the longer one right.
    Padding += TensorAlignment;
    sum(V);
  }

private:
  void sum(const TensorView &V) {
    Whole = Fields + (Padded ? wire::bytesSize(Padding) : 0) +
            (V.Data.empty() ? 0 : wire::bytesSize(V.Data.size()));
  }
};

} // namespace

Status ProtobufSerializer::encode(Span<const TensorView> Tensors, Message &To) {
  // As much as could be needed, so that what is lent does not move.
  size_t Most = 0;
  for (const TensorView &V : Tensors) {
    Layout L(V);
    Most += L.Whole + 2 * TensorAlignment + 2 * wire::MaxVarint -
            (L.Padded ? V.Data.size() : 0);
  }
  To.clear();
  if (Tensors.empty())
    return Status();
  if (!Scratch.reserve(Most, 0))
    return noMemory();
  Pieces.clear();
  const unsigned char *Begun = Scratch.data();
  wire::Writer W(Scratch.data());
  size_t Lent = 0;
  for (const TensorView &V : Tensors) {
    Layout L(V);
    if (L.Padded)
      L.align(V, size_t(W.at() - Scratch.data()) + Lent);
    W.beginBytes(TensorsTensor, L.Whole);
    if (L.Named)
      W.bytesField(TensorName, V.Spec->name().data(), V.Spec->name().size());
    W.varintField(TensorType, typeNumber(V.Spec->type()));
    if (L.Shape) {
      W.beginBytes(TensorShape, L.Shape);
      for (int64_t Extent : V.Extents)
        W.varint(uint64_t(Extent));
    }
    if (V.Spec->isString()) {
      for (size_t I = 0; I < V.elementCount(); ++I)
        W.bytesField(TensorStrings, V.string(I).data(), V.string(I).size());
    } else if (!L.Padded && !V.Data.empty()) {
      W.bytesField(TensorData, V.Data.data(), V.Data.size());
    } else if (L.Padded) {
      W.beginBytes(TensorPadding, L.Padding);
      W.zeros(L.Padding);
      W.beginBytes(TensorData, V.Data.size());
      Pieces.push_back({Begun, size_t(W.at() - Begun)});
      Pieces.push_back(V.Data);
      Begun = W.at();
      Lent += V.Data.size();
    }
  }
  Pieces.push_back({Begun, size_t(W.at() - Begun)});
  // A message begins with bytes of its own.
  unsigned char *Room = To.room(Pieces[0].size());
  if (!Room)
    return noMemory();
  std::memcpy(Room, Pieces[0].data(), Pieces[0].size());
  To.wrote(Pieces[0].size());
  for (size_t I = 1; I < Pieces.size(); ++I)
    To.lend(Pieces[I]);
  return Status();
}

Status ProtobufSerializer::Sent::addExtent(uint64_t Extent) {
  if (Rank == MaxRank)
    return malformed("a tensor of rank " + std::to_string(Rank + 1));
  Shape[Rank++] = int64_t(Extent);
  return Status();
}

Status ProtobufSerializer::Sent::readShape(Bytes Packed) {
  for (wire::Reader R(Packed); !R.atEnd();) {
    uint64_t Extent;
    if (!R.varint(Extent))
      return malformed("half an extent");
    if (Status S = addExtent(Extent); !S)
      return S;
  }
  return Status();
}

Status ProtobufSerializer::Sent::read(Bytes From) {
  Whole = From;
  Status S;
  for (wire::Reader R(From); !R.atEnd() && S.ok();) {
    if (!R.next())
      return malformed("not a tensor, or not all of it");
    if (R.is(TensorName, Type::Bytes) && !HasName) {
      Name = R.Content;
      HasName = !Name.empty();
    } else if (R.is(TensorType, Type::Varint) && !TypeNumber) {
      TypeNumber = R.Number;
    } else if (R.is(TensorShape, Type::Bytes)) {
      S = readShape(R.Content);
    } else if (R.is(TensorShape, Type::Varint)) {
      S = addExtent(R.Number);
    } else if (R.is(TensorData, Type::Bytes) && !HasData) {
      Data = R.Content;
      HasData = true;
    } else if (R.is(TensorStrings, Type::Bytes)) {
      ++Strings;
      Characters += R.Content.size();
    } else if (!R.is(TensorPadding, Type::Bytes)) {
      return malformed(
          "field " + std::to_string(R.Field) +
          " of a tensor: unknown, of another type, or there twice");
    }
  }
  return S;
}

/// Which spec a tensor is for: by its name, or else by its position.
Status ProtobufSerializer::find(Sent &S, size_t Position, DecodedTensors &To) {
  const std::vector<TensorSpec> &Specs = *To.Specs;
  auto Is = [&](const TensorSpec &Spec) {
    return !S.HasName ||
           (Spec.name().size() == S.Name.size() &&
            std::memcmp(Spec.name().data(), S.Name.data(), S.Name.size()) == 0);
  };
  S.Spec = Position;
  if (Position >= Specs.size() || !Is(Specs[Position]))
    for (S.Spec = 0; S.Spec < Specs.size() && !Is(Specs[S.Spec]);)
      ++S.Spec;
  if (!S.HasName && Position >= Specs.size())
    S.Spec = Specs.size();
  if (S.Spec == Specs.size())
    return malformed(
        S.HasName ? "there is no '" +
                        std::string(S.Name.begin(),
                                    S.Name.begin() +
                                        std::min<size_t>(S.Name.size(), 200)) +
                        "' in the signature"
                  : "more tensors than the " + std::to_string(Specs.size()) +
                        " of the signature");
  if (Taken[S.Spec])
    return malformed(Specs[S.Spec], "is there twice");
  Taken[S.Spec] = true;
  return Status();
}

/// Adds the memory that its elements need if they do not stay where they are.
Status ProtobufSerializer::Sent::check(const TensorSpec &Wanted,
                                       size_t &Backing) {
  if (TypeNumber != typeNumber(Wanted.type()))
    return Status::error(StatusCode::TypeMismatch,
                         "protobuf: '" + Wanted.name() + "': wanted " +
                             Wanted.typeAndShape() + ", got " +
                             typeName(TypeNumber));
  if (Status S = Wanted.checkExtents(shape()); !S)
    return S;
  Expected<size_t> Count = elementCount(shape());
  if (!Count)
    return malformed(Wanted, Count.status().message());
  if (Wanted.isString()) {
    if (HasData || Strings != *Count)
      return malformed(Wanted, std::to_string(Strings) +
                                   " strings instead of " +
                                   std::to_string(*Count));
    Copied = true;
    Backing += alignUp((*Count + 1) * sizeof(uint64_t) + Characters);
    return Status();
  }
  size_t Element = sizeOf(Wanted.type());
  if (Strings || Data.size() / Element != *Count || Data.size() % Element)
    return malformed(Wanted, std::to_string(Data.size()) + " bytes for " +
                                 std::to_string(*Count) + " elements of " +
                                 std::to_string(Element));
  if (Wanted.type() == ElementType::Bool)
    for (unsigned char Byte : Data)
      if (Byte > 1)
        return malformed(Wanted, "a bool that is " + std::to_string(Byte));
  Copied = reinterpret_cast<uintptr_t>(Data.data()) % TensorAlignment != 0;
  if (Copied)
    Backing += alignUp(Data.size());
  return Status();
}

/// Writes the elements to At.
Bytes ProtobufSerializer::Sent::build(bool IsString, unsigned char *At) const {
  if (!IsString) {
    if (!Data.empty())
      std::memcpy(At, Data.data(), Data.size());
    return {At, Data.size()};
  }
  uint64_t End = 0;
  unsigned char *Offset = At;
  unsigned char *Text = At + (Strings + 1) * sizeof(End);
  auto PutOffset = [&] {
    std::memcpy(Offset, &End, sizeof(End));
    Offset += sizeof(End);
  };
  PutOffset();
  for (wire::Reader R(Whole); !R.atEnd() && R.next();) {
    if (R.Field != TensorStrings)
      continue;
    if (!R.Content.empty())
      std::memcpy(Text + End, R.Content.data(), R.Content.size());
    End += R.Content.size();
    PutOffset();
  }
  return {At, size_t(Text + End - At)};
}

Status ProtobufSerializer::decode(Bytes Payload, DecodedTensors &To) {
  const std::vector<TensorSpec> &Specs = *To.Specs;
  Came.clear();
  Taken.assign(Specs.size(), false);
  size_t Backing = 0;
  for (wire::Reader R(Payload); !R.atEnd();) {
    if (!R.next())
      return malformed("not a message, or not all of it");
    if (!R.is(TensorsTensor, Type::Bytes))
      return malformed("field " + std::to_string(R.Field) +
                       " of a message, which is unknown or of another type");
    Came.emplace_back();
    Sent &S = Came.back();
    if (Status Read = S.read(R.Content); !Read)
      return Read;
    if (Status Found = find(S, Came.size() - 1, To); !Found)
      return Found;
    if (Status Checked = S.check(Specs[S.Spec], Backing); !Checked)
      return Checked;
  }
  for (size_t I = 0; I < Specs.size(); ++I)
    if (!Taken[I])
      return malformed(Specs[I], "is missing");
  if (Backing && !To.Backing.reserve(Backing, 0))
    return noMemory();
  unsigned char *At = To.Backing.data();
  for (const Sent &S : Came) {
    Bytes Data = S.Data;
    if (S.Copied) {
      Data = S.build(Specs[S.Spec].isString(), At);
      At += alignUp(Data.size());
    }
    To.set(S.Spec, S.shape(), Data);
  }
  return Status();
}

} // namespace cbridge
