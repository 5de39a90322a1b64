//===- ObservationMessages.cpp - Action and Observation -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/wire/ObservationMessages.h"

#include "channel/Handshake.h"
#include "core/Wire.h"
#include "modules/grpc/wire/FrameMessage.h"
#include "os/File.h"

#include <cmath>

namespace cbridge {

using wire::Type;

namespace {

constexpr auto FieldTensors = unsigned(Content::Tensors);
/// Field numbers of Action.
enum : unsigned { ActionStep = 1, ActionTensors = 2, ActionFailure = 3 };
/// The kinds that an Observation has here.
constexpr auto KindRequest = uint64_t(FrameKind::Request);
constexpr auto KindEnd = uint64_t(FrameKind::End);

/// More than all numbers of an Observation, and the tags and lengths of the
/// rest.
constexpr size_t MaxNumbers = 96;
/// Of why there is no decision.
constexpr size_t MaxFailure = 2000;

Status malformed(const std::string &Why) {
  return Status::error(StatusCode::Protocol, Why);
}

Status wrongField(const char *Of, unsigned Field) {
  return malformed("field " + std::to_string(Field) + " of " + Of +
                   ": unknown, of another type, or too much");
}

} // namespace

Status ObservationMessages::encode(Span<const TensorView> Features,
                                   const Told &Beside, Message &To) {
  bool Over = Beside.Terminated || Beside.Truncated;
  Tensors.clear();
  if (!Over)
    if (Status S = With.encode(Features, Tensors); !S)
      return S;
  To.clear();
  unsigned char *Room =
      To.room(MaxNumbers + Beside.Context.size() + Tensors.own().size());
  if (!Room)
    return Status::error(StatusCode::OutOfMemory, "no memory for a message");
  wire::Writer W(Room);
  W.varintField(FieldKind, Over ? KindEnd : KindRequest);
  W.fixed64Field(FieldSession, Session);
  if (Beside.Step)
    W.varintField(FieldSequence, Beside.Step);
  if (Beside.Runner)
    W.varintField(FieldRunner, Beside.Runner);
  if (Beside.Reward) {
    uint64_t Bits;
    std::memcpy(&Bits, &*Beside.Reward, sizeof(Bits));
    W.fixed64Field(FieldReward, Bits);
  }
  if (Beside.Truncated)
    W.varintField(FieldTruncated, 1);
  if (!Beside.Context.empty())
    W.bytesField(FieldContext, Beside.Context.data(), Beside.Context.size());
  if (!Over) {
    W.beginBytes(FieldTensors, Tensors.size());
    Bytes Own = Tensors.own();
    if (!Own.empty())
      std::memcpy(W.at(), Own.data(), Own.size());
    To.wrote(size_t(W.at() - Room) + Own.size());
    for (Bytes Piece : Tensors.lent())
      To.lend(Piece);
  } else {
    To.wrote(size_t(W.at() - Room));
  }
  return Status();
}

Expected<Answered> ObservationMessages::decode(Bytes From, DecodedTensors &To) {
  Answered A;
  A.Step = 0;
  std::optional<Bytes> Decision, Failure;
  for (wire::Reader R(From); !R.atEnd();) {
    if (!R.next())
      return malformed("not an Action, or not all of it");
    bool Alone = !Decision && !Failure;
    if (R.is(ActionStep, Type::Varint))
      A.Step = R.Number;
    else if (R.is(ActionTensors, Type::Bytes) && Alone)
      Decision = R.Content;
    else if (R.is(ActionFailure, Type::Bytes) && Alone)
      Failure = R.Content;
    else
      return wrongField("an Action", R.Field);
  }
  if (*A.Step == 0) {
    if (Decision || Failure)
      return malformed("step 0 begins an episode: there is nothing to decide");
    return A;
  }
  if (Failure) {
    std::string_view Why = asText(*Failure);
    if (!wire::isUtf8(Why))
      return malformed("a failure that is not UTF-8");
    A.Failure = Why.substr(0, MaxFailure);
    return A;
  }
  if (!Decision)
    return malformed("an Action with neither tensors nor a failure");
  if (Status S = With.decode(*Decision, To); !S)
    return S;
  return A;
}

Expected<SeenObservation> SeenObservation::decode(Bytes From) {
  SeenObservation O;
  uint64_t Kind = 0;
  bool HasTensors = false;
  for (wire::Reader R(From); !R.atEnd();) {
    if (!R.next())
      return malformed("not an Observation, or not all of it");
    if (R.is(FieldKind, Type::Varint)) {
      Kind = R.Number;
    } else if (R.is(FieldSession, Type::Fixed64)) {
      O.Session = R.Number;
    } else if (R.is(FieldSequence, Type::Varint)) {
      O.Beside.Step = R.Number;
    } else if (R.is(FieldRunner, Type::Varint) && R.Number <= UINT32_MAX) {
      O.Beside.Runner = uint32_t(R.Number);
    } else if (R.is(FieldReward, Type::Fixed64)) {
      double Reward;
      std::memcpy(&Reward, &R.Number, sizeof(Reward));
      O.Beside.Reward = Reward;
    } else if (R.is(FieldTruncated, Type::Varint)) {
      O.Beside.Truncated = R.Number != 0;
    } else if (R.is(FieldTensors, Type::Bytes) && !HasTensors) {
      O.Tensors = R.Content;
      HasTensors = true;
    } else if (R.is(FieldContext, Type::Bytes)) {
      O.Beside.Context = asText(R.Content);
    } else if (R.is(FieldSignature, Type::Bytes)) {
      O.Hello = R.Content;
    } else {
      return wrongField("an Observation", R.Field);
    }
  }
  if (Kind != KindRequest && Kind != KindEnd)
    return malformed("an Observation of kind " + std::to_string(Kind) +
                     ", which getObservation does not have");
  if (HasTensors != (Kind == KindRequest))
    return malformed(HasTensors ? "an END with tensors"
                                : "a REQUEST without tensors");
  if (O.Beside.Truncated && Kind == KindRequest)
    return malformed("a REQUEST that is truncated");
  if (O.Beside.Reward && !std::isfinite(*O.Beside.Reward))
    return malformed("a reward that is not finite");
  O.Beside.Terminated = Kind == KindEnd && !O.Beside.Truncated;
  return O;
}

std::string encodeIntroduction(const Signature &Sig) {
  std::string Text = Hello{"protobuf", Sig}.encode();
  unsigned char Begin[wire::TagSize + wire::MaxVarint];
  wire::Writer W(Begin);
  W.beginBytes(FieldSignature, Text.size());
  return std::string(Begin, W.at()) + Text;
}

std::string beginAction(uint64_t Step, bool Failed, size_t Size) {
  if (Step == 0)
    return {};
  unsigned char Begin[2 * (wire::TagSize + wire::MaxVarint)];
  wire::Writer W(Begin);
  W.varintField(ActionStep, Step);
  W.beginBytes(Failed ? ActionFailure : ActionTensors, Size);
  return {Begin, W.at()};
}

Method getObservation(const Signature &Sig) {
  Method M;
  M.Path = ObservationMethod;
  M.NewMessages = [Session = os::randomId()] {
    return std::make_unique<ObservationMessages>(Session);
  };
  M.Introduction = encodeIntroduction(Sig);
  return M;
}

} // namespace cbridge
