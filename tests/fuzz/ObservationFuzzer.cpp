//===- ObservationFuzzer.cpp - Any bytes as Action and Observation --------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/wire/ObservationMessages.h"

#include <cstdlib>

using namespace cbridge;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  static const auto Specs = std::make_shared<std::vector<TensorSpec>>(
      std::vector<TensorSpec>{TensorSpec::create<int64_t>("y", {-1}),
                              TensorSpec::create<std::string>("s")});
  DecodedTensors Decision(Specs);
  ObservationMessages Messages(1);
  Expected<Answered> A = Messages.decode({Data, Size}, Decision);
  if (A && *A->Step && !A->Failure)
    for (const TensorView &V : Decision.Views)
      for (unsigned char Byte : V.Data) {
        volatile unsigned char Read = Byte;
        (void)Read;
      }
  Expected<SeenObservation> O = SeenObservation::decode({Data, Size});
  if (O && O->hasEnded() && !O->Tensors.empty())
    std::abort();
  return 0;
}
