//===- UserMessages.cpp - The messages of a user's own .proto -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/UserMessages.h"

#include "modules/grpc/FieldCopy.h"
#include "modules/grpc/Wire.h"

#include <google/protobuf/stubs/logging.h>

#include <climits>

namespace cbridge {

namespace pb = google::protobuf;

namespace {

/// Follows Way, making what is not there.
pb::Message &reach(pb::Message &From, const std::vector<Field> &Way) {
  pb::Message *At = &From;
  for (Field F : Way)
    At = At->GetReflection()->MutableMessage(At, F);
  return *At;
}

/// Follows Way; null if something is not there.
const pb::Message *find(const pb::Message &From,
                        const std::vector<Field> &Way) {
  const pb::Message *At = &From;
  for (Field F : Way) {
    if (!At->GetReflection()->HasField(*At, F))
      return nullptr;
    At = &At->GetReflection()->GetMessage(*At, F);
  }
  return At;
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

/// Calls Do with each message that has a leaf of B; Fails with what it returns.
template <typename Callable>
Status forLeaves(const pb::Message &In, const FieldBinding &B, Callable Do) {
  const pb::Message *At = find(In, B.Outer);
  if (!At)
    return B.missing();
  if (!B.Each)
    return Do(*At);
  const pb::Reflection &R = *At->GetReflection();
  for (int K = 0, N = R.FieldSize(*At, B.Each); K < N; ++K) {
    const pb::Message *Leaf =
        find(R.GetRepeatedMessage(*At, B.Each, K), B.Inner);
    if (!Leaf)
      return B.missing();
    if (Status S = Do(*Leaf); !S)
      return S;
  }
  return Status();
}

} // namespace

Expected<std::shared_ptr<const UserBinding>>
UserBinding::make(std::shared_ptr<const ProtoFile> File,
                  const pb::Descriptor *Sent, const pb::Descriptor *Received,
                  const Signature &Sig, bool Serving) {
  auto Made = std::make_shared<UserBinding>();
  Made->File = std::move(File);
  Made->Sent = Sent;
  Made->Received = Received;
  Made->Serving = Serving;
  Expected<std::vector<FieldBinding>> Features =
      bindFields(Sent, Sig.inputs(), Direction::Sent, "input",
                 Serving ? "reply" : "request");
  if (!Features)
    return Features.status();
  Made->Features = std::move(*Features);
  Made->Beside = bindBeside(Sent, Made->Features);
  if (Status S = checkRequired(Sent, Made->Features, Made->Beside, "input"); !S)
    return S;
  Expected<std::vector<FieldBinding>> Decision =
      bindFields(Received, Sig.outputs(), Direction::Received, "output",
                 Serving ? "request" : "reply");
  if (!Decision)
    return Decision.status();
  Made->Decision = std::move(*Decision);
  // A peer that is not told the step has other things in mind with its own.
  if (Serving || Made->Beside.Step)
    Made->AnsweredStep = bindBeside(Received, Made->Decision).Step;
  return std::shared_ptr<const UserBinding>(std::move(Made));
}

Status UserMessages::putFeatures(Span<const TensorView> Features) {
  FirstOfGroup.assign(As->Features.size(), nullptr);
  GroupCounts.assign(As->Features.size(), 0);
  for (size_t I = 0; I < As->Features.size(); ++I) {
    const FieldBinding &B = As->Features[I];
    const TensorView &V = Features[I];
    pb::Message &At = reach(*Out, B.Outer);
    if (V.elementCount() > INT_MAX)
      return B.error(StatusCode::OutOfMemory, "too large for a message");
    if (!B.Each) {
      if (Status S = putElements(At, B, V, 0, V.elementCount()); !S)
        return S;
      continue;
    }
    const pb::Reflection &R = *At.GetReflection();
    const auto Count = size_t(V.Extents[0]);
    if (Count > INT_MAX)
      return B.error(StatusCode::OutOfMemory, "too large for a message");
    const FieldBinding *&First = FirstOfGroup[B.Group];
    if (!First) {
      First = &B;
      GroupCounts[B.Group] = Count;
      for (size_t K = 0; K < Count; ++K)
        R.AddMessage(&At, B.Each);
    } else if (GroupCounts[B.Group] != Count) {
      return B.error(StatusCode::ShapeMismatch,
                     std::to_string(Count) + " messages '" + B.Each->name() +
                         "', but " + First->Who + " has " +
                         std::to_string(GroupCounts[B.Group]));
    }
    size_t Each = Count ? V.elementCount() / Count : 0;
    for (size_t K = 0; K < Count; ++K) {
      pb::Message &In =
          reach(*R.MutableRepeatedMessage(&At, B.Each, int(K)), B.Inner);
      if (Status S = putElements(In, B, V, K * Each, Each); !S)
        return S;
    }
  }
  return Status();
}

Status UserMessages::putBeside(const Told &Beside) {
  const BesideFields &F = As->Beside;
  const pb::Reflection &R = *Out->GetReflection();
  auto Number = [&](Field To, uint64_t Value) {
    if (!To || putNumber(*Out, To, Value))
      return Status();
    return Status::error(StatusCode::OutOfMemory, "'" + To->name() +
                                                      "' cannot hold " +
                                                      std::to_string(Value));
  };
  if (Status S = Number(F.Step, Beside.Step); !S)
    return S;
  if (Status S = Number(F.Runner, Beside.Runner); !S)
    return S;
  // One that a string cannot hold is left out: a name is no reason to fail.
  if (F.Context && (F.Context->type() == pb::FieldDescriptor::TYPE_BYTES ||
                    wire::isUtf8(Beside.Context)))
    R.SetString(Out.get(), F.Context, std::string(Beside.Context));
  if (F.Reward && Beside.Reward) {
    if (elementTypeOf(F.Reward) == ElementType::Float)
      R.SetFloat(Out.get(), F.Reward, float(*Beside.Reward));
    else
      R.SetDouble(Out.get(), F.Reward, *Beside.Reward);
  }
  // Where nobody asks why it is over, that it is over is what counts.
  bool Over = Beside.Terminated || Beside.Truncated;
  if (F.Terminated)
    R.SetBool(Out.get(), F.Terminated,
              F.Truncated && F.Terminated->name() != "done" ? Beside.Terminated
                                                            : Over);
  if (F.Truncated)
    R.SetBool(Out.get(), F.Truncated, Beside.Truncated);
  return Status();
}

Status UserMessages::encode(Span<const TensorView> Features, const Told &Beside,
                            Message &To) {
  pb::LogSilencer Quiet;
  Out->Clear();
  if (!Features.empty() || As->Features.empty())
    if (Status S = putFeatures(Features); !S)
      return S;
  if (Status S = putBeside(Beside); !S)
    return S;
  // A reward that is not known, the features of an end.
  if (!Out->IsInitialized())
    putRequired(*Out);
  size_t Size = Out->ByteSizeLong();
  To.clear();
  unsigned char *Room = Size <= INT_MAX ? To.room(Size + 1) : nullptr;
  if (!Room)
    return Status::error(StatusCode::OutOfMemory,
                         "no memory for a message of " + std::to_string(Size) +
                             " bytes");
  Out->SerializeWithCachedSizesToArray(Room);
  To.wrote(Size);
  return Status();
}

/// Finds the extents of output I.
Status UserMessages::measure(size_t I) {
  const FieldBinding &B = As->Decision[I];
  Place &P = Places[I];
  P.Count = P.Size = 0;
  size_t Leaves = 0, OfFirst = 0;
  auto Wrong = [&](size_t Count) {
    return B.error(
        StatusCode::ShapeMismatch,
        "is " + B.Spec.typeAndShape() + ", got " + std::to_string(Count) +
            (B.Each ? " elements in a message '" : " elements in '") +
            (B.Each ? B.Each->name() : B.Path) + "'");
  };
  int64_t *Rest = P.Extents.data() + (B.Each ? 1 : 0);
  Status S = forLeaves(*In, B, [&](const pb::Message &Leaf) -> Status {
    Expected<size_t> Count = countElements(Leaf, B);
    if (!Count)
      return Count.status();
    if (Leaves++ == 0) {
      OfFirst = *Count;
      if (!fitExtents(B.leafShape(), *Count, Rest))
        return Wrong(*Count);
    } else if (*Count != OfFirst) {
      return Wrong(*Count);
    }
    P.Count += *Count;
    std::string Scratch;
    for (size_t K = 0; B.Spec.isString() && K < *Count; ++K) {
      Expected<std::string_view> Text = takeString(Leaf, B, K, Scratch);
      if (!Text)
        return Text.status();
      P.Size += Text->size();
    }
    return Status();
  });
  if (!S)
    return S;
  if (B.Each) {
    int64_t Wanted = B.Spec.shape()[0];
    if (Wanted != Dynamic && size_t(Wanted) != Leaves)
      return B.error(StatusCode::ShapeMismatch,
                     "is " + B.Spec.typeAndShape() + ", got " +
                         std::to_string(Leaves) + " messages '" +
                         B.Each->name() + "'");
    P.Extents[0] = int64_t(Leaves);
    for (size_t D = 0; Leaves == 0 && D < B.leafShape().size(); ++D)
      Rest[D] = std::max<int64_t>(B.leafShape()[D], 0);
  }
  P.Size += B.Spec.isString() ? (P.Count + 1) * sizeof(uint64_t)
                              : P.Count * sizeOf(B.Spec.type());
  return Status();
}

Status UserMessages::take(const FieldBinding &B, unsigned char *To) const {
  if (!B.Spec.isString())
    return forLeaves(*In, B, [&](const pb::Message &Leaf) -> Status {
      Expected<size_t> Count = countElements(Leaf, B);
      if (!Count)
        return Count.status();
      unsigned char *At = To;
      To += *Count * sizeOf(B.Spec.type());
      return takeElements(Leaf, B, At);
    });
  return Status();
}

Status UserMessages::takeDecision(DecodedTensors &To) {
  Places.resize(As->Decision.size());
  size_t Total = 0;
  for (size_t I = 0; I < Places.size(); ++I) {
    if (Status S = measure(I); !S)
      return S;
    Places[I].Offset = Total;
    Total += alignUp(Places[I].Size);
  }
  if (!To.Backing.reserve(Total + TensorAlignment, 0))
    return Status::error(StatusCode::OutOfMemory,
                         "no memory for " + std::to_string(Total) + " bytes");
  std::string Scratch;
  for (size_t I = 0; I < Places.size(); ++I) {
    const FieldBinding &B = As->Decision[I];
    const Place &P = Places[I];
    unsigned char *At = To.Backing.data() + P.Offset;
    if (Status S = take(B, At); !S)
      return S;
    if (B.Spec.isString()) {
      uint64_t Offset = 0, Index = 0;
      unsigned char *Text = At + (P.Count + 1) * sizeof(uint64_t);
      auto Mark = [&] {
        std::memcpy(At + Index++ * sizeof(Offset), &Offset, sizeof(Offset));
      };
      Status S = forLeaves(*In, B, [&](const pb::Message &Leaf) -> Status {
        Expected<size_t> Count = countElements(Leaf, B);
        for (size_t K = 0; Count && K < *Count; ++K) {
          Mark();
          Expected<std::string_view> Each = takeString(Leaf, B, K, Scratch);
          if (!Each)
            return Each.status();
          if (!Each->empty())
            std::memcpy(Text + Offset, Each->data(), Each->size());
          Offset += Each->size();
        }
        return Count.status();
      });
      if (!S)
        return S;
      Mark();
    }
    To.set(I, {P.Extents.data(), B.Spec.shape().size()}, {At, P.Size});
  }
  return Status();
}

Expected<Answered> UserMessages::takeStep() const {
  Answered A;
  Field F = As->AnsweredStep;
  const pb::Reflection &R = *In->GetReflection();
  if (!F || (F->has_presence() && !R.HasField(*In, F)))
    return A;
  int64_t Signed = 0;
  switch (elementTypeOf(F)) {
  case ElementType::UInt32:
    A.Step = R.GetUInt32(*In, F);
    return A;
  case ElementType::UInt64:
    A.Step = R.GetUInt64(*In, F);
    return A;
  case ElementType::Int32:
    Signed = R.GetInt32(*In, F);
    break;
  default:
    Signed = R.GetInt64(*In, F);
    break;
  }
  if (Signed < 0)
    return Status::error(StatusCode::Protocol,
                         "step " + std::to_string(Signed));
  A.Step = uint64_t(Signed);
  return A;
}

Expected<Answered> UserMessages::decode(Bytes From, DecodedTensors &To) {
  pb::LogSilencer Quiet;
  auto Wrong = [&](const std::string &Why) {
    return Status::error(
        StatusCode::Protocol,
        std::string(As->Serving ? "the request" : "the reply") + " is no " +
            As->Received->full_name() + Why);
  };
  In->Clear();
  if (From.size() > INT_MAX ||
      !In->ParsePartialFromArray(From.data(), int(From.size())))
    return Wrong("");
  Expected<Answered> A = takeStep();
  if (!A || (As->Serving && A->Step == uint64_t(0)))
    return A;
  if (Status S = takeDecision(To); !S)
    return S;
  if (!In->IsInitialized())
    return Wrong(": lacks " + In->InitializationErrorString().substr(0, 200));
  return A;
}

} // namespace cbridge
