//===- UserMessages.h - The messages of a user's own .proto -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_USERMESSAGES_H
#define CBRIDGE_MODULES_GRPC_PROTO_USERMESSAGES_H

#include "modules/grpc/proto/MessageReader.h"
#include "modules/grpc/proto/MessageWriter.h"
#include "modules/grpc/proto/ProtoFile.h"

#include <cbridge/Signature.h>

namespace cbridge {

/// How a signature lies in the two messages of a method. Shared by its runners;
/// does not change.
struct UserBinding {
  /// Fails if they do not fit; the message names the tensor. Serving: what the
  /// compiler receives is a request, in which step 0 has no decision.
  static Expected<std::shared_ptr<const UserBinding>>
  make(std::shared_ptr<const ProtoFile> File, const MessageType *Sent,
       const MessageType *Received, const Signature &Sig, bool Serving);

  std::shared_ptr<const ProtoFile> File;
  const MessageType *Received = nullptr;
  std::vector<FieldBinding> Features, Decision;
  MessagePlan SentPlan, ReceivedPlan;
  BesideFields Beside;
  Field AnsweredStep = nullptr;
  bool Serving = false;
};

/// Features and decisions in fields of the user's.
class UserMessages final : public MethodMessages {
public:
  explicit UserMessages(std::shared_ptr<const UserBinding> Binding)
      : As(std::move(Binding)), Writer(As->Features, As->SentPlan, As->Beside),
        Reader(As->Decision, As->ReceivedPlan, As->AnsweredStep) {}

  Status encode(Span<const TensorView> Features, const Told &Beside,
                Message &To) override {
    return Writer.write(Features, Beside, To);
  }
  Expected<Answered> decode(Bytes From, DecodedTensors &To) override;
  bool tellsEnds() const override { return As->Beside.Terminated; }

private:
  std::shared_ptr<const UserBinding> As; // first: the others look into it
  MessageWriter Writer;
  MessageReader Reader;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_USERMESSAGES_H
