//===- Operator.h - What operators for ONNX Runtime share -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_ONNX_OPS_OPERATOR_H
#define CBRIDGE_MODULES_ONNX_OPS_OPERATOR_H

#include <onnxruntime_c_api.h>

#include <cstddef>

namespace cbridge::onnx_ops {

/// The first API in which an operator can fail without throwing: of ONNX
/// Runtime 1.16.
constexpr uint32_t ApiNeeded = 16;
constexpr size_t MaxRank = 16;

/// A status with a text as printf() would make it, cut at 255 characters.
OrtStatus *failure(const OrtApi &Api, const char *Format, ...)
    __attribute__((format(printf, 2, 3)));

/// A tensor that a kernel is given; valid while it computes.
struct InputTensor {
  const void *Data = nullptr;
  size_t Count = 0, Rank = 0;
  int64_t Extents[MaxRank] = {};
};
OrtStatus *readInput(const OrtApi &Api, OrtKernelContext *Context, size_t Index,
                     InputTensor &To);

/// The operators of this library.
struct OperatorList {
  const OrtCustomOp *const *Data;
  size_t Size;
};
OperatorList bucketizeOperators();

} // namespace cbridge::onnx_ops

#endif // CBRIDGE_MODULES_ONNX_OPS_OPERATOR_H
