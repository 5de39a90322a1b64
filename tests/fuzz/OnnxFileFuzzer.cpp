//===- OnnxFileFuzzer.cpp - Fuzzes the reader of ONNX files ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/GraphSignature.h"
#include "engine/onnx/OnnxFile.h"

using namespace cbridge;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  Expected<onnx::OnnxFile> File = onnx::OnnxFile::parse({Data, Size});
  if (!File && File.status().message().empty())
    __builtin_trap();
  if (std::optional<Signature> Plain = onnx::graphSignature({Data, Size}))
    for (const auto *Side : {&Plain->inputs(), &Plain->outputs()})
      for (const TensorSpec &Each : *Side)
        if (!Each.isFixed() && !Each.isString())
          __builtin_trap();
  return 0;
}
