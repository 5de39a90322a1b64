//===- UserMessages.h - The messages of a user's own .proto -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_USERMESSAGES_H
#define CBRIDGE_MODULES_GRPC_USERMESSAGES_H

#include "modules/grpc/FieldBinding.h"
#include "modules/grpc/MethodMessages.h"
#include "modules/grpc/ProtoFile.h"

#include <cbridge/Signature.h>

namespace cbridge {

/// How a signature lies in the two messages of a method. Shared by its runners;
/// does not change.
struct UserBinding {
  /// Fails if they do not fit; the message names the tensor. Serving: what the
  /// compiler receives is a request, in which step 0 has no decision.
  static Expected<std::shared_ptr<const UserBinding>>
  make(std::shared_ptr<const ProtoFile> File,
       const google::protobuf::Descriptor *Sent,
       const google::protobuf::Descriptor *Received, const Signature &Sig,
       bool Serving);

  std::shared_ptr<const ProtoFile> File;
  const google::protobuf::Descriptor *Sent = nullptr, *Received = nullptr;
  std::vector<FieldBinding> Features, Decision;
  BesideFields Beside;
  Field AnsweredStep = nullptr;
  bool Serving = false;
};

/// Features and decisions in fields of the user's. Messages are used again, so
/// that they stop allocating.
class UserMessages final : public MethodMessages {
public:
  explicit UserMessages(std::shared_ptr<const UserBinding> Binding)
      : As(std::move(Binding)), Out(As->File->newMessage(As->Sent)),
        In(As->File->newMessage(As->Received)) {}

  Status encode(Span<const TensorView> Features, const Told &Beside,
                Message &To) override;
  Expected<Answered> decode(Bytes From, DecodedTensors &To) override;
  bool tellsEnds() const override { return As->Beside.Terminated; }

private:
  Status putFeatures(Span<const TensorView> Features);
  Status putBeside(const Told &Beside);
  Expected<Answered> takeStep() const;
  Status takeDecision(DecodedTensors &To);
  Status measure(size_t I);
  Status take(const FieldBinding &B, unsigned char *To) const;

  /// What a tensor of the received message takes.
  struct Place {
    std::array<int64_t, MaxRank> Extents;
    size_t Count, Size, Offset;
  };

  std::shared_ptr<const UserBinding> As; // first: it outlives the messages
  std::unique_ptr<google::protobuf::Message> Out, In;
  std::vector<const FieldBinding *> FirstOfGroup;
  std::vector<size_t> GroupCounts;
  std::vector<Place> Places;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_USERMESSAGES_H
