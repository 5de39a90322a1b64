//===- ObservationMessages.h - Action and Observation -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_WIRE_OBSERVATIONMESSAGES_H
#define CBRIDGE_MODULES_GRPC_WIRE_OBSERVATIONMESSAGES_H

#include "modules/grpc/wire/MethodMessages.h"
#include "modules/grpc/wire/ProtobufSerializer.h"

#include <cbridge/Signature.h>

namespace cbridge {

constexpr const char ObservationMethod[] =
    "/compiler_bridge.v1.CompilerBridge/getObservation";

/// getObservation of proto/compiler_bridge.proto, as a compiler sees it.
class ObservationMessages : public MethodMessages {
public:
  explicit ObservationMessages(uint64_t Session) : Session(Session) {}
  Status encode(Span<const TensorView> Features, const Told &Beside,
                Message &To) override;
  Expected<Answered> decode(Bytes From, DecodedTensors &To) override;

private:
  const uint64_t Session;
  ProtobufSerializer With;
  Message Tensors;
};

/// An Observation as its trainer sees it. Points into the message.
struct SeenObservation {
  uint64_t Session = 0;
  Told Beside;
  Bytes Tensors;
  /// What a hello has as text; of a step 0.
  Bytes Hello;
  bool hasEnded() const { return Beside.Terminated || Beside.Truncated; }

  /// Checks everything but what is in Tensors and Hello.
  static Expected<SeenObservation> decode(Bytes From);
};

/// Fields of an Observation: what a trainer must know before its first action.
std::string encodeIntroduction(const Signature &Sig);

/// An Action as its trainer writes it: all but the content, which follows and
/// has Size bytes. Step 0 has none.
std::string beginAction(uint64_t Step, bool Failed, size_t Size);

/// getObservation, checked against nothing: any signature fits.
Method getObservation(const Signature &Sig);

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_WIRE_OBSERVATIONMESSAGES_H
