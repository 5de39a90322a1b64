//===- OutputSpec.h - MLGO's output_spec.json -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_TFLITE_OUTPUTSPEC_H
#define CBRIDGE_ENGINE_TFLITE_OUTPUTSPEC_H

#include <cbridge/TensorSpec.h>

namespace cbridge {

/// An output of a model: what the pass calls it, and what the model does.
struct OutputSpec {
  TensorSpec Spec;    ///< by the pass's name
  std::string Tensor; ///< the model's name for it
  int Port;
};

/// Reads `[{"logging_name":"advice","tensor_spec":{"name":"x","port":0,
/// "type":"int64_t","shape":[1]}},...]`. File is for messages, which name the
/// line and the field.
Expected<std::vector<OutputSpec>> readOutputSpecs(std::string_view Text,
                                                  const std::string &File);

} // namespace cbridge

#endif // CBRIDGE_ENGINE_TFLITE_OUTPUTSPEC_H
