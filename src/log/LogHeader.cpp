//===- LogHeader.cpp - The first line of a log ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log/LogHeader.h"

#include "core/SignatureJson.h"

#include <algorithm>

namespace cbridge {

namespace {

constexpr int ExtensionVersion = 1;

/// What LLVM's logger can hold.
bool isPlain(const TensorSpec &Spec) {
  return Spec.isFixed() && Spec.type() != ElementType::Bool;
}

bool isPlain(const std::vector<TensorSpec> &Specs) {
  return std::all_of(Specs.begin(), Specs.end(),
                     [](const TensorSpec &Spec) { return isPlain(Spec); });
}

void appendSpec(std::string &To, const TensorSpec &Spec) {
  To += "{\"name\":";
  appendLogString(To, Spec.name());
  To += ",\"type\":\"";
  To += toString(Spec.type());
  To += "\",\"port\":0,\"shape\":[";
  for (size_t D = 0; D < Spec.shape().size(); ++D)
    To += (D ? "," : "") + std::to_string(Spec.shape()[D]);
  To += "]}";
}

Status malformed(const std::string &Why) {
  return Status::error(StatusCode::Protocol, "the header: " + Why);
}

/// Moves the recorded decision from the end of the features to a list of its
/// own.
Expected<LogHeader> divide(std::vector<TensorSpec> Features, LogHeader H,
                           std::optional<size_t> Decisions) {
  if (!Decisions)
    Decisions = H.Advice && !Features.empty() && Features.back() == *H.Advice;
  if (*Decisions > Features.size())
    return malformed(std::to_string(*Decisions) + " decisions, but " +
                     std::to_string(Features.size()) + " features");
  auto First = Features.end() - std::ptrdiff_t(*Decisions);
  std::vector<TensorSpec> Outputs(First, Features.end());
  Features.erase(First, Features.end());
  H.Sig = Signature(std::move(Features), std::move(Outputs));
  for (const auto *Side : {&H.Sig.inputs(), &H.Sig.outputs()}) {
    std::vector<std::string_view> Names;
    for (const TensorSpec &Spec : *Side)
      Names.push_back(Spec.name());
    std::sort(Names.begin(), Names.end());
    auto Twice = std::adjacent_find(Names.begin(), Names.end());
    if (Twice != Names.end())
      return malformed("two tensors are named '" + std::string(*Twice) + "'");
  }
  return H;
}

} // namespace

void appendLogString(std::string &To, std::string_view Text) {
  static constexpr char Hex[] = "0123456789abcdef";
  To += '"';
  for (char C : Text) {
    auto Byte = static_cast<unsigned char>(C);
    if (C == '"' || C == '\\')
      To += '\\';
    if (Byte >= 0x20) {
      To += C;
      continue;
    }
    To += '\\';
    switch (C) {
    case '\t':
      To += 't';
      break;
    case '\n':
      To += 'n';
      break;
    case '\r':
      To += 'r';
      break;
    default:
      To += "u00";
      To += Hex[Byte >> 4];
      To += Hex[Byte & 15];
    }
  }
  To += '"';
}

std::string LogHeader::encode(const Signature &Sig) {
  std::string Line = "{\"features\":[";
  bool First = true;
  for (const auto *Side : {&Sig.inputs(), &Sig.outputs()})
    for (const TensorSpec &Spec : *Side) {
      Line += First ? "" : ",";
      First = false;
      appendSpec(Line, Spec);
    }
  Line += "],\"score\":";
  appendSpec(Line, TensorSpec::create<float>("reward"));
  Line += ",\"advice\":";
  appendSpec(Line, Sig.outputs()[0]);
  if (Sig.outputs().size() != 1 || !isPlain(Sig.inputs()) ||
      !isPlain(Sig.outputs()))
    Line += ",\"cbridge\":{\"version\":" + std::to_string(ExtensionVersion) +
            ",\"decisions\":" + std::to_string(Sig.outputs().size()) + "}";
  return Line + "}\n";
}

Expected<LogHeader> LogHeader::decode(std::string_view Line) {
  LogHeader H;
  std::vector<TensorSpec> Features;
  bool HasFeatures = false;
  std::optional<int64_t> Version;
  std::optional<size_t> Decisions;
  JsonReader Reader(Line);
  auto One = [&](std::optional<TensorSpec> &Spec) {
    std::vector<TensorSpec> Specs;
    if (!readSpec(Reader, Specs))
      return false;
    Spec = std::move(Specs[0]);
    return true;
  };
  auto Extension = [&](std::string_view Key) {
    if (Key == "version")
      return Reader.number(Version.emplace());
    if (Key == "decisions")
      return Reader.number(Decisions.emplace());
    return Reader.skipValue();
  };
  bool Read = Reader.object([&](std::string_view Key) {
    if (Key == "features") {
      HasFeatures = true;
      return readSpecs(Reader, Features);
    }
    if (Key == "score")
      return One(H.Score);
    if (Key == "advice")
      return One(H.Advice);
    if (Key == "cbridge")
      return Reader.object(Extension);
    return Reader.skipValue();
  });
  if (!Read || !Reader.atEnd())
    return malformed(Reader.status().message());
  if (!HasFeatures)
    return malformed("there is no \"features\"");
  if (Version && *Version != ExtensionVersion)
    return malformed("version " + std::to_string(*Version) +
                     " of the extension; this reads version " +
                     std::to_string(ExtensionVersion));
  if (H.Score && (!isPlain(*H.Score) || H.Score->elementCount() != 1))
    return malformed("the score '" + H.Score->name() + "' is " +
                     H.Score->typeAndShape() + ", which is not one number");
  if (!Version)
    for (const TensorSpec &Spec : Features)
      if (!isPlain(Spec))
        return malformed("'" + Spec.name() + "' is " + Spec.typeAndShape() +
                         ", which needs the extension");
  return divide(std::move(Features), std::move(H), Decisions);
}

} // namespace cbridge
