//===- Handshake.cpp - What both ends say first ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/Handshake.h"

#include "core/SignatureJson.h"

#include <cstring>

namespace cbridge {

std::string_view asText(Bytes Payload) {
  return {reinterpret_cast<const char *>(Payload.data()), Payload.size()};
}

Status setText(Message &To, std::string_view Text) {
  To.clear();
  unsigned char *At = To.room(Text.size());
  if (!At)
    return Status::error(StatusCode::OutOfMemory, "no memory for a message");
  if (!Text.empty())
    std::memcpy(At, Text.data(), Text.size());
  To.wrote(Text.size());
  return Status();
}

std::string Hello::encode() const {
  std::string Text = "{\"serdes\":";
  appendJsonString(Text, Serdes);
  Text += ",\"features\":";
  appendSpecs(Text, Sig.inputs());
  Text += ",\"decision\":";
  appendSpecs(Text, Sig.outputs());
  return Text + "}";
}

Expected<Hello> Hello::decode(Bytes Payload) {
  Hello H;
  std::vector<TensorSpec> Inputs, Outputs;
  JsonReader Reader(asText(Payload));
  bool Read = Reader.object([&](std::string_view Key) {
    if (Key == "serdes")
      return Reader.string(H.Serdes);
    if (Key == "features")
      return readSpecs(Reader, Inputs);
    if (Key == "decision")
      return readSpecs(Reader, Outputs);
    return Reader.skipValue();
  }) && Reader.atEnd();
  if (!Read)
    return Reader.status().withContext("hello");
  H.Sig = Signature(std::move(Inputs), std::move(Outputs));
  if (Status S = H.Sig.validate(); !S)
    return Status::error(StatusCode::Protocol, "hello: " + S.message());
  return H;
}

std::string encodeWelcome(const std::vector<TensorSpec> &Decision) {
  std::string Text = "{\"decision\":";
  appendSpecs(Text, Decision);
  return Text + "}";
}

Expected<std::vector<TensorSpec>> decodeWelcome(Bytes Payload) {
  std::vector<TensorSpec> Decision;
  JsonReader Reader(asText(Payload));
  bool Read = Reader.object([&](std::string_view Key) {
    return Key == "decision" ? readSpecs(Reader, Decision) : Reader.skipValue();
  }) && Reader.atEnd();
  if (!Read)
    return Reader.status().withContext("welcome");
  return Decision;
}

Status checkSpecs(const std::vector<TensorSpec> &Wanted,
                  const std::vector<TensorSpec> &Given, const char *What,
                  const char *Wants, const char *Gives) {
  for (const TensorSpec &W : Wanted) {
    const TensorSpec *Found = nullptr;
    for (const TensorSpec &G : Given)
      if (G.name() == W.name())
        Found = &G;
    std::string Prefix = std::string(What) + " '" + W.name() + "': " + Wants +
                         " " + W.typeAndShape() + ", " + Gives + " ";
    if (!Found)
      return Status::error(StatusCode::ShapeMismatch, Prefix + "nothing");
    if (Found->type() != W.type())
      return Status::error(StatusCode::TypeMismatch,
                           Prefix + Found->typeAndShape());
    if (*Found != W)
      return Status::error(StatusCode::ShapeMismatch,
                           Prefix + Found->typeAndShape());
  }
  return Status();
}

} // namespace cbridge
