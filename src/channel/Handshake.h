//===- Handshake.h - What both ends say first -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_HANDSHAKE_H
#define CBRIDGE_CHANNEL_HANDSHAKE_H

#include "tensor/Message.h"

#include <cbridge/Signature.h>

namespace cbridge {

/// The payload of Hello: the compiler's signature and choice of serializer.
struct Hello {
  std::string Serdes;
  Signature Sig;

  std::string encode() const;
  static Expected<Hello> decode(Bytes Payload);
};

/// The payload of Welcome: the decision as the peer will send it.
std::string encodeWelcome(const std::vector<TensorSpec> &Decision);
Expected<std::vector<TensorSpec>> decodeWelcome(Bytes Payload);

/// Whether every spec of Wanted is among Given with the same type and shape.
/// The roles name the two sides: "peer wants", "compiler sends".
Status checkSpecs(const std::vector<TensorSpec> &Wanted,
                  const std::vector<TensorSpec> &Given, const char *What,
                  const char *Wants, const char *Gives);

/// A message that is text.
Status setText(Message &To, std::string_view Text);
std::string_view asText(Bytes Payload);

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_HANDSHAKE_H
