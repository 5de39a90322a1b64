//===- Signature.cpp - What a pass sends and asks for ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Signature.h>

#include <unordered_set>

namespace cbridge {

namespace {

std::optional<size_t> indexOf(const std::vector<TensorSpec> &Specs,
                              std::string_view Name) {
  for (size_t I = 0; I < Specs.size(); ++I)
    if (Specs[I].name() == Name)
      return I;
  return std::nullopt;
}

Status validateSide(const std::vector<TensorSpec> &Specs, const char *Side) {
  // A set, since a peer validates what any compiler sends it.
  std::unordered_set<std::string_view> Names;
  for (const TensorSpec &Spec : Specs) {
    if (Status S = Spec.validate(); !S)
      return S.withContext(Side);
    if (!Names.insert(Spec.name()).second)
      return Status::error(StatusCode::InvalidArgument,
                           std::string(Side) + ": two tensors are named '" +
                               Spec.name() + "'");
  }
  return Status();
}

/// FNV-1a, 64 bits.
class Hasher {
public:
  void add(uint64_t Value) {
    for (int Byte = 0; Byte < 8; ++Byte)
      mix(static_cast<unsigned char>(Value >> (8 * Byte)));
  }
  void add(std::string_view Text) {
    add(Text.size());
    for (char C : Text)
      mix(static_cast<unsigned char>(C));
  }
  uint64_t value() const { return Hash; }

private:
  void mix(unsigned char Byte) { Hash = (Hash ^ Byte) * 0x100000001b3ULL; }
  uint64_t Hash = 0xcbf29ce484222325ULL;
};

} // namespace

std::optional<size_t> Signature::inputIndex(std::string_view Name) const {
  return indexOf(Inputs, Name);
}

std::optional<size_t> Signature::outputIndex(std::string_view Name) const {
  return indexOf(Outputs, Name);
}

Status Signature::validate() const {
  if (Status S = validateSide(Inputs, "features"); !S)
    return S;
  if (Outputs.empty())
    return Status::error(StatusCode::InvalidArgument,
                         "the signature has no decision");
  return validateSide(Outputs, "decision");
}

uint64_t Signature::fingerprint() const {
  Hasher H;
  for (const auto *Side : {&Inputs, &Outputs}) {
    H.add(Side->size());
    for (const TensorSpec &Spec : *Side) {
      H.add(Spec.name());
      H.add(uint64_t(Spec.type()));
      H.add(Spec.shape().size());
      for (int64_t Extent : Spec.shape())
        H.add(uint64_t(Extent));
    }
  }
  return H.value();
}

} // namespace cbridge
