//===- Tflite.h - Models under training -------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_TFLITE_TFLITE_H
#define CBRIDGE_ENGINE_TFLITE_TFLITE_H

#include <cbridge/Registry.h>

namespace cbridge {

/// `tflite:DIR`: the model DIR/model.tflite, of which DIR/output_spec.json
/// tells what the pass calls its outputs.
Scheme tfliteScheme();

} // namespace cbridge

#endif // CBRIDGE_ENGINE_TFLITE_TFLITE_H
