//===- UserMessages.cpp - The messages of a user's own .proto -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/UserMessages.h"

namespace cbridge {

Expected<std::shared_ptr<const UserBinding>>
UserBinding::make(std::shared_ptr<const ProtoFile> File,
                  const MessageType *Sent, const MessageType *Received,
                  const Signature &Sig, bool Serving) {
  auto Made = std::make_shared<UserBinding>();
  Made->File = std::move(File);
  Made->Received = Received;
  Made->Serving = Serving;
  Expected<std::vector<FieldBinding>> Features =
      bindFields(Sent, Sig.inputs(), Direction::Sent, "input",
                 Serving ? "reply" : "request");
  if (!Features)
    return Features.status();
  Made->Features = std::move(*Features);
  Made->SentPlan = MessagePlan(Sent, Made->Features);
  Made->Beside = bindBeside(Sent, Made->Features);
  if (Status S = checkRequired(Sent, Made->Features, Made->Beside, "input"); !S)
    return S;
  Expected<std::vector<FieldBinding>> Decision =
      bindFields(Received, Sig.outputs(), Direction::Received, "output",
                 Serving ? "request" : "reply");
  if (!Decision)
    return Decision.status();
  Made->Decision = std::move(*Decision);
  Made->ReceivedPlan = MessagePlan(Received, Made->Decision);
  // A peer that is not told the step has other things in mind with its own.
  if (Serving || Made->Beside.Step)
    Made->AnsweredStep = bindBeside(Received, Made->Decision).Step;
  return std::shared_ptr<const UserBinding>(std::move(Made));
}

Expected<Answered> UserMessages::decode(Bytes From, DecodedTensors &To) {
  if (Status S = Reader.read(From); !S)
    return Status::error(
        S.code(), std::string(As->Serving ? "the request" : "the reply") +
                      " is no " + As->Received->FullName);
  Answered A;
  A.Step = Reader.step();
  // Nobody can tell an absent one from 0.
  if (!A.Step && As->AnsweredStep && !As->AnsweredStep->Presence)
    A.Step = 0;
  if (As->Serving && A.Step == uint64_t(0))
    return A;
  if (Status S = Reader.take(To); !S)
    return S;
  return A;
}

} // namespace cbridge
