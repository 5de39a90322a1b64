//===- OrtTensors.h - Types and shapes of ONNX Runtime's --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_ORTTENSORS_H
#define CBRIDGE_ENGINE_ONNX_ORTTENSORS_H

#include "engine/onnx/OrtLibrary.h"

#include <cbridge/TensorSpec.h>

namespace cbridge::onnx {

ONNXTensorElementDataType toOrt(ElementType Type);
/// Nothing for a type that we do not have.
std::optional<ElementType> fromOrt(ONNXTensorElementDataType Type);

enum class Side { Input, Output };

/// An input or output of a graph. Fails if it is none that a pass could have.
struct GraphTensor {
  std::string Name;
  Expected<TensorSpec> Spec;
};
Expected<std::vector<GraphTensor>>
graphTensors(const OrtLibrary &Ort, const OrtSession *Session, Side Of);

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_ORTTENSORS_H
