//===- TfliteFuzzer.cpp - Fuzzes what is checked of TFLite models ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/tflite/OutputSpec.h"
#include "engine/tflite/TfliteCheck.h"

#include <cstdlib>

using namespace cbridge;

static void mustHold(bool Condition) {
  if (!Condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Status S = checkTflite({Data, Size}); !S.ok())
    mustHold(S.code() == StatusCode::Protocol ||
             S.code() == StatusCode::OutOfMemory);
  Expected<std::vector<OutputSpec>> Specs = readOutputSpecs(
      {reinterpret_cast<const char *>(Data), Size}, "output_spec.json");
  if (!Specs)
    mustHold(Specs.status().message().find("output_spec.json:") == 0);
  else
    for (const OutputSpec &Each : *Specs)
      mustHold(Each.Spec.validate().ok() && Each.Port >= 0);
  return 0;
}
