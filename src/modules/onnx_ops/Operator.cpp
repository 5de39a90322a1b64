//===- Operator.cpp - What operators for ONNX Runtime share ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/onnx_ops/Operator.h"

#include <cstdarg>
#include <cstdio>

namespace cbridge::onnx_ops {

OrtStatus *failure(const OrtApi &Api, const char *Format, ...) {
  char Text[256];
  va_list Arguments;
  va_start(Arguments, Format);
  std::vsnprintf(Text, sizeof(Text), Format, Arguments);
  va_end(Arguments);
  return Api.CreateStatus(ORT_FAIL, Text);
}

OrtStatus *readInput(const OrtApi &Api, OrtKernelContext *Context, size_t Index,
                     InputTensor &To) {
  const OrtValue *Value = nullptr;
  if (OrtStatus *S = Api.KernelContext_GetInput(Context, Index, &Value))
    return S;
  if (!Value)
    return failure(Api, "input %zu is missing", Index);
  OrtTensorTypeAndShapeInfo *Info = nullptr;
  if (OrtStatus *S = Api.GetTensorTypeAndShape(Value, &Info))
    return S;
  OrtStatus *S = Api.GetDimensionsCount(Info, &To.Rank);
  if (!S && To.Rank > MaxRank)
    S = failure(Api, "input %zu has %zu extents, more than %zu", Index, To.Rank,
                MaxRank);
  if (!S)
    S = Api.GetDimensions(Info, To.Extents, To.Rank);
  if (!S)
    S = Api.GetTensorShapeElementCount(Info, &To.Count);
  Api.ReleaseTensorTypeAndShapeInfo(Info);
  if (S)
    return S;
  void *Data = nullptr;
  // Its name notwithstanding: there is no other way to read.
  S = Api.GetTensorMutableData(const_cast<OrtValue *>(Value), &Data);
  To.Data = Data;
  return S;
}

} // namespace cbridge::onnx_ops
