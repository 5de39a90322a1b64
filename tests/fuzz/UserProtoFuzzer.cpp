//===- UserProtoFuzzer.cpp - Any bytes as a message of the user's ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SerializerFuzzer.h"
#include "modules/grpc/proto/UserMessages.h"

using namespace cbridge;

namespace {

template <typename T>
TensorSpec spec(const char *Name, std::vector<int64_t> Shape = {}) {
  return TensorSpec::create<T>(Name, std::move(Shape));
}

/// Everything of tests/proto/kinds.proto that can be received and sent again.
std::vector<TensorSpec> specs() {
  return {spec<bool>("flag"),
          spec<int64_t>("i32"),
          spec<int64_t>("i64"),
          spec<uint32_t>("u32"),
          spec<uint64_t>("u64"),
          spec<float>("f"),
          spec<double>("d"),
          spec<std::string>("text"),
          spec<int16_t>("raw", {Dynamic, 2}),
          spec<int32_t>("color"),
          spec<bool>("flags", {Dynamic}),
          spec<int32_t>("i32s", {Dynamic}),
          spec<int64_t>("i64s", {Dynamic, 3}),
          spec<uint32_t>("u32s", {2}),
          spec<uint64_t>("u64s", {Dynamic}),
          spec<float>("fs", {Dynamic}),
          spec<double>("ds", {Dynamic}),
          spec<std::string>("texts", {Dynamic}),
          spec<std::string>("raws", {Dynamic}),
          spec<int32_t>("colors", {Dynamic}),
          spec<int64_t>("callee.size"),
          spec<int64_t>("nodes.size", {Dynamic}),
          spec<float>("nodes.weights", {Dynamic, Dynamic}),
          spec<std::string>("nodes.name", {Dynamic}),
          spec<int64_t>("nodes.detail.depth", {Dynamic}),
          spec<bool>("nodes.raw", {Dynamic, 1})};
}

std::shared_ptr<const UserBinding> bound() {
  auto File = ProtoFile::read(CBRIDGE_TEST_DESCRIPTOR);
  mustHold(File.ok(), File.status().toString());
  const MessageType *Type = (*File)->message("cbridge.test.Everything");
  // Those for outputs must fit what is sent as well.
  std::vector<TensorSpec> In = specs(), Out = specs();
  In[1] = spec<int32_t>("i32");
  auto B = UserBinding::make(*File, Type, Type, {In, Out}, false);
  mustHold(B.ok(), B.status().toString());
  return *B;
}

} // namespace

/// What is decoded is consistent, and survives another trip.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  static const auto *const Binding =
      new std::shared_ptr<const UserBinding>(bound());
  static const auto Specs =
      std::make_shared<const std::vector<TensorSpec>>(specs());
  UserMessages Messages(*Binding);
  DecodedTensors First(Specs), Second(Specs);
  std::vector<unsigned char> Payload(Data, Data + Size);
  Expected<Answered> A = Messages.decode(Payload, First);
  if (!A) {
    mustHold(!A.status().message().empty(), "a failure has a message");
    return 0;
  }
  for (const TensorView &V : First.Views)
    mustHold(inconsistency(V).empty(), inconsistency(V));
  // i32 is wider here than what is sent.
  int32_t Narrow = int32_t(First.Views[1].as<int64_t>()[0]);
  std::vector<TensorView> Views = First.Views;
  Views[1].Data = {reinterpret_cast<const unsigned char *>(&Narrow),
                   sizeof(Narrow)};
  Message Encoded;
  Status S = Messages.encode(Views, Told(), Encoded);
  mustHold(S.ok(), S.toString());
  std::vector<unsigned char> Again = flatten(Encoded);
  A = Messages.decode(Again, Second);
  mustHold(A.ok(), A.status().toString());
  std::string Difference = difference(First.Views, Second.Views);
  mustHold(Difference.empty(), Difference);
  return 0;
}
