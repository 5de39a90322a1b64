//===- TensorCheck.h - Whether a weight can be used -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_TENSORCHECK_H
#define CBRIDGE_ENGINE_ONNX_TENSORCHECK_H

#include <cbridge/Span.h>
#include <cbridge/Status.h>

#include <string>

namespace cbridge::onnx {

/// Checks a TensorProto: that it has as much data as its extents claim, and
/// only finite numbers. An infinite scalar is let through: it masks scores.
/// External: it lies in a file of its own, and is not looked at.
Status checkTensorProto(Bytes Message, bool &External);

/// The packed floats of an attribute.
Status checkFloats(Bytes Packed, const std::string &Name);

/// Text for a message, however long it is in the file.
std::string shortText(Bytes Content);

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_TENSORCHECK_H
