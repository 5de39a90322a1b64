//===- TfliteCheck.h - What TFLite does not check ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_TFLITE_TFLITECHECK_H
#define CBRIDGE_ENGINE_TFLITE_TFLITECHECK_H

#include <cbridge/Span.h>
#include <cbridge/Status.h>

namespace cbridge {

/// Looks for what makes TFLite crash although its own check of a file, of the
/// offsets in it, succeeds: lists that are missing, tensors that no list has or
/// that claim too much memory, and tensors that are read before anything has
/// written them. Found by breaking models at random; a file that somebody has
/// made to do harm may still do it.
Status checkTflite(Bytes Model);

} // namespace cbridge

#endif // CBRIDGE_ENGINE_TFLITE_TFLITECHECK_H
