//===- SerializerFuzzer.h - What a decoder must hold to ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_FUZZ_SERIALIZERFUZZER_H
#define CBRIDGE_TESTS_FUZZ_SERIALIZERFUZZER_H

#include "../conformance/Tensors.h"

#include <cstdio>
#include <cstdlib>

namespace cbridge {

inline void mustHold(bool Condition, const std::string &What) {
  if (Condition)
    return;
  std::fprintf(stderr, "does not hold: %s\n", What.c_str());
  std::abort();
}

/// The first byte chooses one of these, the rest is the payload. Seeds depend
/// on the order: append.
inline const std::vector<DecodedTensors::SpecList> &fuzzedSpecs() {
  auto List = [](std::vector<TensorSpec> Specs) {
    return std::make_shared<const std::vector<TensorSpec>>(std::move(Specs));
  };
  static const auto *const All = new std::vector<DecodedTensors::SpecList>{
      List({TensorSpec::create<int64_t>("a"),
            TensorSpec::create<float>("b", {4})}),
      List({TensorSpec::create<float>("a", {Dynamic}),
            TensorSpec::create<double>("b", {Dynamic, 3})}),
      List({TensorSpec::create<std::string>("a", {Dynamic}),
            TensorSpec::create<std::string>("b")}),
      List({TensorSpec::create<bool>("a", {3}),
            TensorSpec::create<bool>("b", {Dynamic})}),
      List({TensorSpec::create<uint8_t>("a", {}),
            TensorSpec::create<int16_t>("b", {2, 2}),
            TensorSpec::create<std::string>("c", {Dynamic, Dynamic}),
            TensorSpec::create<float>("d", {Dynamic, Dynamic}),
            TensorSpec::create<uint64_t>("e")}),
      List({TensorSpec::create<int64_t>("a", {0}),
            TensorSpec::create<float>("b", {Dynamic, 0}),
            TensorSpec::create<int8_t>("c", std::vector<int64_t>(8, Dynamic))}),
      List({}),
  };
  return *All;
}

/// Whatever is decoded is consistent and survives another trip.
inline void fuzzDecoder(Serializer &Codec, const uint8_t *Data, size_t Size) {
  if (Size == 0)
    return;
  const DecodedTensors::SpecList &Specs =
      fuzzedSpecs()[Data[0] % fuzzedSpecs().size()];
  // Aligned again, and no byte longer than it claims.
  std::vector<unsigned char> Payload(Data + 1, Data + Size);
  DecodedTensors First(Specs), Second(Specs);
  if (Status S = Codec.decode(Payload, First); !S) {
    mustHold(!S.message().empty(), "a failure has a message");
    return;
  }
  for (const TensorView &V : First.Views)
    mustHold(inconsistency(V).empty(), inconsistency(V));
  Message Encoded;
  Status S = Codec.encode(First.Views, Encoded);
  mustHold(S.ok(), S.toString());
  std::vector<unsigned char> Again = flatten(Encoded);
  S = Codec.decode(Again, Second);
  mustHold(S.ok(), S.toString());
  std::string Difference = difference(First.Views, Second.Views);
  mustHold(Difference.empty(), Difference);
}

inline void fuzzDecoder(std::string_view Name, const uint8_t *Data,
                        size_t Size) {
  fuzzDecoder(**makeSerializer(Name), Data, Size);
}

} // namespace cbridge

#endif // CBRIDGE_TESTS_FUZZ_SERIALIZERFUZZER_H
