//===- NativeWeights.cpp - Weights in a file of their own -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/native/NativeWeights.h"

#include <algorithm>
#include <cstring>

namespace cbridge::native {

namespace {

struct Header {
  char Magic[8];
  uint32_t Version;
  uint32_t Reserved;
  uint64_t PayloadSize;
  unsigned char Fingerprint[32];
  uint64_t Checksum; // 0: there is none
};
static_assert(sizeof(Header) == NativeWeights::HeaderSize);

constexpr std::string_view Magic = "CBWEIGHT";
constexpr uint32_t Version = 1;

/// FNV-1a over words of 64 bits, the last of which ends with zeros.
uint64_t checksum(Bytes Of) {
  uint64_t Hash = 0xcbf29ce484222325u;
  for (size_t I = 0; I < Of.size(); I += sizeof(uint64_t)) {
    uint64_t Word = 0;
    std::memcpy(&Word, Of.data() + I, std::min(sizeof(Word), Of.size() - I));
    Hash = (Hash ^ Word) * 0x100000001b3u;
  }
  return Hash;
}

/// The beginning is enough for people.
std::string shown(const unsigned char (&Fingerprint)[32]) {
  std::string Text;
  for (size_t I = 0; I < 4; ++I)
    for (unsigned Digit : {Fingerprint[I] / 16u, Fingerprint[I] % 16u})
      Text += "0123456789abcdef"[Digit];
  return Text + "...";
}

Status check(Bytes Content, const NativeTable &Of) {
  auto Refused = [](const std::string &Why) {
    return Status::error(StatusCode::Unsupported, Why);
  };
  Header H;
  if (Content.size() < sizeof(H) ||
      std::memcmp(Content.data(), Magic.data(), Magic.size()) != 0)
    return Refused("is no file of weights that cbridge compile writes");
  std::memcpy(&H, Content.data(), sizeof(H));
  if (H.Version != Version)
    return Refused("has format version " + std::to_string(H.Version) +
                   ", this program reads " + std::to_string(Version));
  if (H.Reserved)
    return Refused("has format version " + std::to_string(H.Version) +
                   ", but its reserved bytes are not 0");
  if (std::memcmp(H.Fingerprint, Of->fingerprint, sizeof(H.Fingerprint)) != 0)
    return Refused(
        "made for another architecture: its fingerprint is " +
        shown(H.Fingerprint) + ", that of the model " +
        shown(reinterpret_cast<const unsigned char(&)[32]>(Of->fingerprint)) +
        "; their graphs must differ in nothing but weights (exporters may "
        "simplify weights that are exactly 0 or 1, like biases before "
        "training)");
  if (H.PayloadSize != Of->weights_size)
    return Refused("has " + std::to_string(H.PayloadSize) +
                   " bytes of weights, the model " +
                   std::to_string(Of->weights_size));
  Bytes Payload = Content.subspan(sizeof(H), Content.size() - sizeof(H));
  if (Payload.size() != H.PayloadSize)
    return Refused(
        "is cut off or too long: it says " + std::to_string(H.PayloadSize) +
        " bytes of weights and has " + std::to_string(Payload.size()));
  if (H.Checksum && H.Checksum != checksum(Payload))
    return Refused("is damaged: its weights are not those of its checksum");
  return Status();
}

} // namespace

Expected<NativeWeights> NativeWeights::read(const std::string &File,
                                            const NativeTable &Of) {
  // Files that are too large for the model shall say which one they are for.
  constexpr size_t Some = size_t(64) << 20;
  size_t Most = std::max(Some, size_t(Of->weights_size) * 2);
  Expected<os::FileContent> Content = os::readFile(File, Most);
  if (!Content)
    return Content.status().withContext("weights");
  if (Status S = check(Content->bytes(), Of); !S)
    return S.withContext("weights in " + File);
  return NativeWeights(std::move(*Content));
}

} // namespace cbridge::native
