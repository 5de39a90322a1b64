//===- Onnx.h - onnx: -------------------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_ONNX_H
#define CBRIDGE_ENGINE_ONNX_ONNX_H

#include <cbridge/Registry.h>

namespace cbridge {

/// `onnx:FILE.onnx`: ONNX Runtime in this process.
Scheme onnxScheme();

} // namespace cbridge

#endif // CBRIDGE_ENGINE_ONNX_ONNX_H
