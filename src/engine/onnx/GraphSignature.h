//===- GraphSignature.h - What a graph takes and gives ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_GRAPHSIGNATURE_H
#define CBRIDGE_ENGINE_ONNX_GRAPHSIGNATURE_H

#include <cbridge/Signature.h>

#include <optional>

namespace cbridge::onnx {

/// What the graph of an ONNX file says that it takes and gives, as a session
/// would tell it. Nothing unless that is plain: tensors of types that we have,
/// with extents that are fixed. Whether the model works is not looked at.
std::optional<Signature> graphSignature(Bytes Model);

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_GRAPHSIGNATURE_H
