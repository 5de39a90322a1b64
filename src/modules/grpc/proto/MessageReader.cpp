//===- MessageReader.cpp - Tensors out of a user's message ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/MessageReader.h"

#include "modules/grpc/proto/FieldCopy.h"

#include <algorithm>

namespace cbridge {

using wire::Reader;

namespace {

/// Groups in groups, of fields that nobody knows.
constexpr unsigned MaxGroups = 100;

/// Skips the group whose beginning has been read.
bool skipGroup(Reader &R) {
  constexpr auto Begin = wire::Type(3), End = wire::Type(4);
  uint32_t Open[MaxGroups];
  Open[0] = R.Field;
  for (unsigned Depth = 1; Depth > 0;) {
    R.Kind = wire::Type::Varint; // so that the latest one is not seen again
    if (R.next())
      continue;
    // Neither is a whole field, but both have been read.
    if (R.Kind == Begin && Depth < MaxGroups)
      Open[Depth++] = R.Field;
    else if (R.Kind != End || Open[--Depth] != R.Field)
      return false;
  }
  return true;
}

/// The extents of Count elements in a leaf of that shape; false if they do not
/// fit.
bool fitExtents(Span<const int64_t> Shape, size_t Count, int64_t *To) {
  if (Shape.empty())
    return Count == 1;
  size_t Inner = 1;
  for (size_t D = 1; D < Shape.size(); ++D) {
    To[D] = Shape[D];
    Inner *= size_t(Shape[D]);
  }
  if (Shape[0] != Dynamic) {
    To[0] = Shape[0];
    return Count == size_t(Shape[0]) * Inner;
  }
  To[0] = int64_t(Count / Inner); // which is not 0, see checkShape
  return Count % Inner == 0;
}

Status wrongCount(const FieldBinding &B, size_t Count) {
  return B.error(StatusCode::ShapeMismatch,
                 "is " + B.Spec.typeAndShape() + ", got " +
                     std::to_string(Count) +
                     (B.Each ? " elements in a message '" : " elements in '") +
                     (B.Each ? B.Each->Name : B.Path) + "'");
}

} // namespace

bool MessageReader::seen(const std::vector<size_t> &Way) const {
  return std::all_of(Way.begin(), Way.end(),
                     [&](size_t Node) { return Seen[Node]; });
}

Status MessageReader::read(Bytes From) {
  Slots.resize(Bound.size());
  for (Slot &S : Slots) {
    S.Data.clear();
    S.Texts.clear();
    S.Texted = S.Leaves = S.OfFirst = S.InLeaf = 0;
    S.Present = false;
    S.Why = Status();
  }
  Seen.assign(Plan.Nodes.size(), false);
  Step.reset();
  return message(0, From) ? Status()
                          : Status::error(StatusCode::Protocol, "no message");
}

bool MessageReader::message(size_t Node, Bytes From) {
  const MessagePlan::Node &On = Plan.Nodes[Node];
  Seen[Node] = true;
  for (Reader R(From); !R.atEnd();) {
    if (!R.next()) {
      if (R.Kind == wire::Type(3) && skipGroup(R))
        continue;
      return false;
    }
    if (const MessagePlan::Entry *Gone = On.cleared(R.Field))
      clear(On, *Gone);
    if (Node == 0 && StepField && R.is(StepField->Number, wire::Type::Varint)) {
      uint64_t Value = 0;
      fromWire(StepField->Kind, R.Number, elementTypeOf(StepField->Kind),
               reinterpret_cast<unsigned char *>(&Value));
      bool Below0 =
          elementTypeOf(StepField->Kind) == ElementType::Int32
              ? int32_t(Value) < 0
              : elementTypeOf(StepField->Kind) == ElementType::Int64 &&
                    int64_t(Value) < 0;
      if (Below0)
        return false;
      Step = Value;
    }
    const MessagePlan::Entry *E = On.find(R.Field);
    if (!E)
      continue;
    if (E->Tensor >= 0) {
      if (!leaf(size_t(E->Tensor), R))
        return false;
      continue;
    }
    if (R.Kind != wire::Type::Bytes)
      continue;
    auto Child = size_t(E->Child);
    if (E->F->Repeated)
      beginElement(Child);
    if (!message(Child, R.Content))
      return false;
    if (E->F->Repeated)
      for (size_t T : Plan.Nodes[Child].Tensors)
        finishLeaf(T, Plan.Inner[T]);
  }
  return true;
}

void MessageReader::beginElement(size_t Node) {
  for (size_t Below : Plan.Nodes[Node].Nodes)
    Seen[Below] = false;
  for (size_t T : Plan.Nodes[Node].Tensors) {
    Slots[T].InLeaf = 0;
    Slots[T].Present = false;
  }
}

void MessageReader::drop(size_t Tensor) {
  Slot &S = Slots[Tensor];
  if (size_t Element = elementSize(Tensor))
    S.Data.resize(S.Data.size() - S.InLeaf * Element);
  else
    for (; S.InLeaf > 0; --S.InLeaf) {
      S.Texted -= S.Texts.back().size();
      S.Texts.pop_back();
    }
  S.InLeaf = 0;
  S.Present = false;
}

void MessageReader::clear(const MessagePlan::Node &In,
                          const MessagePlan::Entry &E) {
  if (E.Tensor >= 0)
    return drop(size_t(E.Tensor));
  const MessagePlan::Node &Gone = Plan.Nodes[size_t(E.Child)];
  for (size_t Node : Gone.Nodes)
    Seen[Node] = false;
  for (size_t T : Gone.Tensors) {
    Slot &S = Slots[T];
    // With all its repeated messages.
    if (!In.InEach && Bound[T].Each) {
      S.InLeaf = S.count(elementSize(T));
      S.Leaves = 0;
    }
    drop(T);
  }
}

void MessageReader::number(size_t Tensor, uint64_t Value) {
  const FieldBinding &B = Bound[Tensor];
  Slot &S = Slots[Tensor];
  if (B.Leaf->Closed && !B.Leaf->Enum->has(int32_t(Value)))
    mistake(Tensor,
            B.error(StatusCode::Protocol,
                    "a number that is no value of enum " + B.Leaf->Enum->Name));
  size_t At = S.Data.size();
  S.Data.resize(At + elementSize(Tensor));
  fromWire(B.Leaf->Kind, Value, B.Spec.type(), &S.Data[At]);
  ++S.InLeaf;
}

void MessageReader::text(size_t Tensor, Bytes From) {
  const FieldBinding &B = Bound[Tensor];
  std::string_view Text(reinterpret_cast<const char *>(From.data()),
                        From.size());
  if (B.Leaf->Kind == ProtoKind::String && !wire::isUtf8(Text))
    mistake(Tensor,
            B.error(StatusCode::Protocol, "a string that is not UTF-8"));
  Slot &S = Slots[Tensor];
  S.Texts.push_back(Text);
  S.Texted += Text.size();
  ++S.InLeaf;
}

void MessageReader::raw(size_t Tensor, Bytes From) {
  const FieldBinding &B = Bound[Tensor];
  Slot &S = Slots[Tensor];
  size_t Element = elementSize(Tensor);
  if (From.size() % Element) {
    mistake(Tensor,
            B.error(StatusCode::ShapeMismatch,
                    std::to_string(From.size()) + " bytes are no number of " +
                        std::string(toString(B.Spec.type()))));
    return;
  }
  if (B.Spec.type() == ElementType::Bool &&
      std::any_of(From.begin(), From.end(),
                  [](unsigned char Byte) { return Byte > 1; }))
    mistake(Tensor, B.error(StatusCode::Protocol, "a bool that is not 0 or 1"));
  S.Data.insert(S.Data.end(), From.begin(), From.end());
  S.InLeaf += From.size() / Element;
}

bool MessageReader::packed(size_t Tensor, Bytes From) {
  const FieldBinding &B = Bound[Tensor];
  Slot &S = Slots[Tensor];
  wire::Type Wire = wireTypeOf(B.Leaf->Kind);
  if (Wire == wire::Type::Varint) {
    uint64_t Value;
    for (Reader R(From); !R.atEnd(); number(Tensor, Value))
      if (!R.varint(Value))
        return false;
    return true;
  }
  size_t Size = Wire == wire::Type::Fixed32 ? 4 : 8;
  if (From.size() % Size)
    return false;
  if (travelsAsIs(B.Leaf->Kind, B.Spec.type())) {
    S.Data.insert(S.Data.end(), From.begin(), From.end());
    S.InLeaf += From.size() / Size;
    return true;
  }
  for (size_t At = 0; At < From.size(); At += Size) {
    uint64_t Value = 0;
    std::memcpy(&Value, From.data() + At, Size);
    number(Tensor, Value);
  }
  return true;
}

bool MessageReader::leaf(size_t Tensor, const Reader &R) {
  const FieldBinding &B = Bound[Tensor];
  Slot &S = Slots[Tensor];
  bool Packed =
      B.Leaf->Repeated && !B.Leaf->isText() && R.Kind == wire::Type::Bytes;
  if (!Packed && R.Kind != wireTypeOf(B.Leaf->Kind))
    return true; // another field for those who read it otherwise
  if (!B.Leaf->Repeated)
    drop(Tensor); // the last one counts
  S.Present = true;
  if (Packed)
    return packed(Tensor, R.Content);
  if (B.isRaw())
    raw(Tensor, R.Content);
  else if (B.Leaf->isText())
    text(Tensor, R.Content);
  else
    number(Tensor, R.Number);
  return true;
}

void MessageReader::finishLeaf(size_t Tensor, const std::vector<size_t> &Way) {
  const FieldBinding &B = Bound[Tensor];
  Slot &S = Slots[Tensor];
  bool Missing = !S.Present && !B.Leaf->Repeated;
  if (!seen(Way) || (Missing && B.Leaf->Presence)) {
    mistake(Tensor, B.missing());
  } else if (Missing && !B.isRaw()) { // it is zero
    if (B.Leaf->isText())
      S.Texts.emplace_back();
    else
      S.Data.resize(S.Data.size() + elementSize(Tensor));
    ++S.InLeaf;
  }
  bool First = S.Leaves++ == 0;
  if (First)
    S.OfFirst = S.InLeaf;
  if (First ? !fitExtents(B.leafShape(), S.InLeaf,
                          S.Extents.data() + (B.Each ? 1 : 0))
            : S.InLeaf != S.OfFirst)
    mistake(Tensor, wrongCount(B, S.InLeaf));
}

Status MessageReader::finish(size_t Tensor) {
  const FieldBinding &B = Bound[Tensor];
  Slot &S = Slots[Tensor];
  if (!B.Each) {
    finishLeaf(Tensor, Plan.Outer[Tensor]);
    return S.Why;
  }
  if (!seen(Plan.Outer[Tensor]))
    return B.missing();
  if (!S.Why.ok())
    return S.Why;
  int64_t Wanted = B.Spec.shape()[0];
  if (Wanted != Dynamic && size_t(Wanted) != S.Leaves)
    return B.error(StatusCode::ShapeMismatch,
                   "is " + B.Spec.typeAndShape() + ", got " +
                       std::to_string(S.Leaves) + " messages '" + B.Each->Name +
                       "'");
  S.Extents[0] = int64_t(S.Leaves);
  for (size_t D = 0; S.Leaves == 0 && D < B.leafShape().size(); ++D)
    S.Extents[D + 1] = std::max<int64_t>(B.leafShape()[D], 0);
  return Status();
}

Status MessageReader::take(DecodedTensors &To) {
  size_t Total = TensorAlignment;
  for (size_t T = 0; T < Bound.size(); ++T) {
    if (Status S = finish(T); !S)
      return S;
    const Slot &S = Slots[T];
    Total += alignUp(Bound[T].Spec.isString()
                         ? (S.Texts.size() + 1) * sizeof(uint64_t) + S.Texted
                         : S.Data.size());
  }
  if (!To.Backing.reserve(Total, 0))
    return Status::error(StatusCode::OutOfMemory,
                         "no memory for " + std::to_string(Total) + " bytes");
  unsigned char *At = To.Backing.data();
  for (size_t T = 0; T < Bound.size(); ++T) {
    const Slot &S = Slots[T];
    unsigned char *End = At;
    auto Append = [&](const void *From, size_t Size) {
      if (Size)
        std::memcpy(End, From, Size);
      End += Size;
    };
    if (Bound[T].Spec.isString()) {
      uint64_t Offset = 0;
      Append(&Offset, sizeof(Offset));
      for (std::string_view Text : S.Texts) {
        Offset += Text.size();
        Append(&Offset, sizeof(Offset));
      }
      for (std::string_view Text : S.Texts)
        Append(Text.data(), Text.size());
    } else {
      Append(S.Data.data(), S.Data.size());
    }
    To.set(T, {S.Extents.data(), Bound[T].Spec.shape().size()},
           {At, size_t(End - At)});
    At += alignUp(size_t(End - At));
  }
  return Status();
}

} // namespace cbridge
