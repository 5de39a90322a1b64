//===- MessageWriter.cpp - Tensors into a user's message ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/MessageWriter.h"

#include "modules/grpc/proto/FieldCopy.h"

#include <climits>

namespace cbridge {

namespace {

/// Takes what is written, and counts it.
struct Counter {
  size_t Size = 0;
  void varint(uint64_t Value) { Size += wire::varintSize(Value); }
  void bytes(const void * /*From*/, size_t Count) { Size += Count; }
};

/// Takes what is written where there is room.
struct Output {
  wire::Writer To;
  void varint(uint64_t Value) { To.varint(Value); }
  void bytes(const void *From, size_t Count) { To.bytes(From, Count); }
};

template <typename Sink> void putTag(Sink &To, Field F, wire::Type Type) {
  To.varint(uint64_t(F->Number) << 3 | unsigned(Type));
}

/// A value as toWire() makes it.
template <typename Sink>
void putValue(Sink &To, ProtoKind Kind, uint64_t Value) {
  switch (wireTypeOf(Kind)) {
  case wire::Type::Fixed32:
    return To.bytes(&Value, sizeof(uint32_t));
  case wire::Type::Fixed64:
    return To.bytes(&Value, sizeof(uint64_t));
  default:
    return To.varint(Value);
  }
}

/// A field that is one number.
template <typename Sink> void putNumber(Sink &To, Field F, uint64_t Value) {
  if (!F->Repeated && !F->Presence && Value == 0)
    return; // which is what its absence means
  putTag(To, F, wireTypeOf(F->Kind));
  putValue(To, F->Kind, Value);
}

template <typename Sink>
void putText(Sink &To, Field F, const void *From, size_t Size) {
  if (!F->Repeated && !F->Presence && Size == 0)
    return;
  putTag(To, F, wire::Type::Bytes);
  To.varint(Size);
  To.bytes(From, Size);
}

/// Elements that follow one another, without tags.
template <typename Sink>
void putRun(Sink &To, const FieldBinding &B, const unsigned char *From,
            size_t Count) {
  size_t Size = sizeOf(B.Spec.type());
  if (travelsAsIs(B.Leaf->Kind, B.Spec.type()))
    return To.bytes(From, Count * Size);
  for (size_t I = 0; I < Count; ++I)
    putValue(To, B.Leaf->Kind,
             toWire(B.Leaf->Kind, B.Spec.type(), From + I * Size));
}

uint64_t bitsOf(Field F, double Value) {
  auto Narrow = float(Value);
  return F->Kind == ProtoKind::Float
             ? toWire(F->Kind, ElementType::Float,
                      reinterpret_cast<const unsigned char *>(&Narrow))
             : toWire(F->Kind, ElementType::Double,
                      reinterpret_cast<const unsigned char *>(&Value));
}

/// A number that is not below zero, for any kind of integer.
uint64_t bitsOf(Field F, uint64_t Value) {
  bool Zigzag = F->Kind == ProtoKind::SInt32 || F->Kind == ProtoKind::SInt64;
  return Zigzag ? Value << 1 : Value;
}

bool holds(Field F, uint64_t Value) {
  switch (elementTypeOf(F->Kind)) {
  case ElementType::Int32:
    return Value <= INT32_MAX;
  case ElementType::Int64:
    return Value <= INT64_MAX;
  case ElementType::UInt32:
    return Value <= UINT32_MAX;
  default:
    return true;
  }
}

} // namespace

Status MessageWriter::checkValues(const FieldBinding &B,
                                  const TensorView &V) const {
  if (V.elementCount() > INT_MAX)
    return B.error(StatusCode::OutOfMemory, "too large for a message");
  if (B.Leaf->Kind == ProtoKind::String)
    for (size_t I = 0, N = V.elementCount(); I < N; ++I)
      if (!wire::isUtf8(V.string(I)))
        return B.error(StatusCode::TypeMismatch,
                       "a string that is not UTF-8, which string '" + B.Path +
                           "' must be; bytes would hold it");
  if (B.isEnum())
    for (size_t I = 0, N = V.elementCount(); I < N; ++I) {
      int64_t Value =
          integerAt(B.Spec.type(), V.Data.data() + I * sizeOf(B.Spec.type()));
      if (Value < INT32_MIN || Value > INT32_MAX ||
          (B.Leaf->Closed && !B.Leaf->Enum->has(Value)))
        return B.error(StatusCode::TypeMismatch, std::to_string(Value) +
                                                     " is no value of enum " +
                                                     B.Leaf->Enum->Name);
    }
  return Status();
}

Status MessageWriter::check(Span<const TensorView> Features) {
  Groups.assign(Bound.size(), Group());
  for (size_t T = 0; T < Features.size(); ++T) {
    const FieldBinding &B = Bound[T];
    if (Status S = checkValues(B, Features[T]); !S)
      return S;
    if (!B.Each)
      continue;
    Group &Of = Groups[B.Group];
    auto Count = size_t(Features[T].Extents[0]);
    if (Count > INT_MAX)
      return B.error(StatusCode::OutOfMemory, "too large for a message");
    if (!Of.First)
      Of = {&B, Count};
    else if (Of.Count != Count)
      return B.error(StatusCode::ShapeMismatch,
                     std::to_string(Count) + " messages '" + B.Each->Name +
                         "', but " + Of.First->Who + " has " +
                         std::to_string(Of.Count));
  }
  return Status();
}

Status MessageWriter::checkBeside(const Told &Beside) const {
  for (auto [F, Value] : {std::pair{Fields.Step, Beside.Step},
                          std::pair{Fields.Runner, uint64_t(Beside.Runner)}})
    if (F && !holds(F, Value))
      return Status::error(StatusCode::OutOfMemory, "'" + F->Name +
                                                        "' cannot hold " +
                                                        std::to_string(Value));
  return Status();
}

template <typename Sink>
void MessageWriter::putTensor(Sink &To, size_t Tensor, size_t Element) const {
  const FieldBinding &B = Bound[Tensor];
  const TensorView &V = Views[Tensor];
  size_t Count = V.elementCount();
  if (B.Each)
    Count /= Groups[B.Group].Count; // there is one, or we were not here
  size_t First = B.Each ? Element * Count : 0;
  if (B.Spec.isString()) {
    for (size_t I = First; I < First + Count; ++I)
      putText(To, B.Leaf, V.string(I).data(), V.string(I).size());
    return;
  }
  size_t Size = sizeOf(B.Spec.type());
  const unsigned char *From = V.Data.data() + First * Size;
  if (B.isRaw())
    return putText(To, B.Leaf, From, Count * Size);
  if (!B.Leaf->Packed) {
    for (size_t I = 0; I < Count; ++I)
      putNumber(To, B.Leaf,
                toWire(B.Leaf->Kind, B.Spec.type(), From + I * Size));
    return;
  }
  if (!Count)
    return;
  Counter Run;
  putRun(Run, B, From, Count);
  putTag(To, B.Leaf, wire::Type::Bytes);
  To.varint(Run.Size);
  putRun(To, B, From, Count);
}

template <typename Sink>
void MessageWriter::putNode(Sink &To, size_t Node, size_t Element) const {
  for (const MessagePlan::Entry &E : Plan.Nodes[Node].Entries) {
    if (E.Tensor >= 0) {
      putTensor(To, size_t(E.Tensor), Element);
      continue;
    }
    auto Child = size_t(E.Child);
    size_t Count = 1;
    if (E.F->Repeated)
      Count = Groups[Bound[Plan.Nodes[Child].Tensors[0]].Group].Count;
    for (size_t K = 0; K < Count; ++K) {
      size_t Which = E.F->Repeated ? K : Element;
      Counter Inside;
      putNode(Inside, Child, Which);
      putTag(To, E.F, wire::Type::Bytes);
      To.varint(Inside.Size);
      // What has been counted need not be counted again.
      if constexpr (std::is_same_v<Sink, Counter>)
        To.Size += Inside.Size;
      else
        putNode(To, Child, Which);
    }
  }
}

/// What must be there, where there are no features.
template <typename Sink>
void MessageWriter::putZeros(Sink &To, size_t Node) const {
  for (const MessagePlan::Entry &E : Plan.Nodes[Node].Entries) {
    if (!E.F->Required)
      continue;
    if (E.Tensor >= 0) {
      if (E.F->isText())
        putText(To, E.F, nullptr, 0);
      else
        putNumber(To, E.F,
                  E.F->Enum && !E.F->Enum->Numbers.empty()
                      ? uint64_t(int64_t(E.F->Enum->Numbers[0]))
                      : 0);
      continue;
    }
    Counter Inside;
    putZeros(Inside, size_t(E.Child));
    putTag(To, E.F, wire::Type::Bytes);
    To.varint(Inside.Size);
    if constexpr (std::is_same_v<Sink, Counter>)
      To.Size += Inside.Size;
    else
      putZeros(To, size_t(E.Child));
  }
}

template <typename Sink>
void MessageWriter::putBeside(Sink &To, const Told &Beside) const {
  if (Fields.Step)
    putNumber(To, Fields.Step, bitsOf(Fields.Step, Beside.Step));
  if (Fields.Runner)
    putNumber(To, Fields.Runner,
              bitsOf(Fields.Runner, uint64_t(Beside.Runner)));
  // One that a string cannot hold is left out: a name is no reason to fail.
  if (Fields.Context) {
    bool Held = Fields.Context->Kind == ProtoKind::Bytes ||
                wire::isUtf8(Beside.Context);
    putText(To, Fields.Context, Beside.Context.data(),
            Held ? Beside.Context.size() : 0);
  }
  if (Fields.Reward && (Beside.Reward || Fields.Reward->Required))
    putNumber(To, Fields.Reward,
              bitsOf(Fields.Reward, Beside.Reward.value_or(0)));
  // Where nobody asks why it is over, that it is over is what counts.
  bool Over = Beside.Terminated || Beside.Truncated;
  if (Fields.Terminated)
    putNumber(To, Fields.Terminated,
              uint64_t(Fields.Truncated && Fields.Terminated->Name != "done"
                           ? Beside.Terminated
                           : Over));
  if (Fields.Truncated)
    putNumber(To, Fields.Truncated, uint64_t(Beside.Truncated));
}

template <typename Sink>
void MessageWriter::putAll(Sink &To, const Told &Beside) const {
  if (Views.size() == Bound.size())
    putNode(To, 0, 0);
  else
    putZeros(To, 0);
  putBeside(To, Beside);
}

Status MessageWriter::write(Span<const TensorView> Features, const Told &Beside,
                            Message &To) {
  if (Status S = check(Features); !S)
    return S;
  if (Status S = checkBeside(Beside); !S)
    return S;
  Views = Features;
  Counter Needed;
  putAll(Needed, Beside);
  To.clear();
  unsigned char *Room =
      Needed.Size <= INT_MAX ? To.room(Needed.Size + 1) : nullptr;
  if (!Room)
    return Status::error(StatusCode::OutOfMemory,
                         "no memory for a message of " +
                             std::to_string(Needed.Size) + " bytes");
  Output Out{wire::Writer(Room)};
  putAll(Out, Beside);
  To.wrote(Needed.Size);
  return Status();
}

} // namespace cbridge
