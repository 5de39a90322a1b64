//===- DescriptorSetFuzzer.cpp - Any bytes as proto=FILE ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SerializerFuzzer.h"
#include "modules/grpc/proto/UserMessages.h"

using namespace cbridge;

/// The first byte says how much of the rest is a descriptor set; what is left
/// is a message of whatever method it has.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Size == 0)
    return 0;
  size_t OfMessage = std::min<size_t>(Data[0], Size - 1);
  Bytes Set(Data + 1, Size - 1 - OfMessage);
  auto File = ProtoFile::parse(Set);
  if (!File) {
    mustHold(!File.status().message().empty(), "a failure has a message");
    return 0;
  }
  auto R = RunnerString::parse("grpc:x:1?proto=x");
  auto M = (*File)->method(*R);
  if (!M)
    return 0;
  Signature Sig({TensorSpec::create<float>("x", {Dynamic}),
                 TensorSpec::create<int32_t>("size", {Dynamic})},
                TensorSpec::create<int64_t>("y", {}));
  auto B = UserBinding::make(*File, (*M)->Input, (*M)->Output, Sig,
                             /*Serving=*/false);
  // One that fits one side at least.
  if (!B)
    B = UserBinding::make(*File, (*M)->Input, (*M)->Output,
                          {{}, TensorSpec::create<int64_t>("y", {})}, false);
  if (!B)
    return 0;
  UserMessages Messages(*B);
  DecodedTensors To(std::make_shared<const std::vector<TensorSpec>>(
      std::vector<TensorSpec>{Sig.outputs()}));
  if (Messages.decode({Data + Size - OfMessage, OfMessage}, To))
    for (const TensorView &V : To.Views)
      mustHold(inconsistency(V).empty(), inconsistency(V));
  TensorStorage Features((*B)->Features.empty() ? std::vector<TensorSpec>()
                                                : Sig.inputs());
  Message Out;
  (void)Messages.encode(Features.views(), Told(), Out);
  return 0;
}
