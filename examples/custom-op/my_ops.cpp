//===- my_ops.cpp - An operator for ONNX Runtime, whole -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// my_ops::BitLength(int64 x) -> int64: how many bits each number has.
//
//===----------------------------------------------------------------------===//
#include <onnxruntime_c_api.h>

namespace {

/// Each node's kernel knows the ONNX Runtime it belongs to; here that is all.
OrtStatus *ORT_API_CALL create(const OrtCustomOp *, const OrtApi *Api,
                               const OrtKernelInfo *, void **Kernel) {
  *Kernel = const_cast<OrtApi *>(Api);
  return nullptr;
}

OrtStatus *ORT_API_CALL compute(void *Kernel, OrtKernelContext *Context) {
  const auto &Api = *static_cast<const OrtApi *>(Kernel);
  const OrtValue *X = nullptr;
  OrtTensorTypeAndShapeInfo *Shape = nullptr;
  OrtValue *Y = nullptr;
  void *From = nullptr, *To = nullptr;
  size_t Rank = 0, Count = 0;
  int64_t Extents[8];
  OrtStatus *S = Api.KernelContext_GetInput(Context, 0, &X);
  if (!S)
    S = Api.GetTensorTypeAndShape(X, &Shape);
  if (!S)
    S = Api.GetDimensionsCount(Shape, &Rank);
  if (!S && Rank > 8)
    S = Api.CreateStatus(ORT_FAIL, "BitLength: x has more than 8 extents");
  if (!S)
    S = Api.GetDimensions(Shape, Extents, Rank);
  if (!S)
    S = Api.GetTensorShapeElementCount(Shape, &Count);
  if (!S)
    S = Api.GetTensorMutableData(const_cast<OrtValue *>(X), &From);
  if (!S)
    S = Api.KernelContext_GetOutput(Context, 0, Extents, Rank, &Y);
  if (!S)
    S = Api.GetTensorMutableData(Y, &To);
  if (Shape)
    Api.ReleaseTensorTypeAndShapeInfo(Shape);
  for (size_t I = 0; !S && I < Count; ++I) {
    int64_t Value = static_cast<const int64_t *>(From)[I], Bits = 0;
    if (Value < 0)
      return Api.CreateStatus(ORT_FAIL, "BitLength: a number is negative");
    for (; Value; Value >>= 1)
      ++Bits;
    static_cast<int64_t *>(To)[I] = Bits;
  }
  return S;
}

/// ONNX Runtime calls what is set here without looking: all of it is needed.
OrtCustomOp describe() {
  OrtCustomOp Op = {};
  Op.version = 16; // the first with CreateKernelV2 and KernelComputeV2
  Op.GetName = [](const OrtCustomOp *) { return "BitLength"; };
  Op.GetExecutionProviderType = [](const OrtCustomOp *) -> const char * {
    return nullptr; // the CPU
  };
  Op.GetInputTypeCount =
      Op.GetOutputTypeCount = [](const OrtCustomOp *) -> size_t { return 1; };
  Op.GetInputType = Op.GetOutputType = [](const OrtCustomOp *, size_t) {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  };
  Op.GetInputCharacteristic = Op.GetOutputCharacteristic =
      [](const OrtCustomOp *, size_t) { return INPUT_OUTPUT_REQUIRED; };
  Op.GetInputMemoryType = [](const OrtCustomOp *, size_t) {
    return OrtMemTypeDefault;
  };
  Op.CreateKernelV2 = create;
  Op.KernelComputeV2 = compute;
  Op.KernelDestroy = [](void *) {};
  return Op;
}

const OrtCustomOp BitLength = describe();

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the name is ONNX Runtime's
extern "C" __attribute__((visibility("default"))) OrtStatus *ORT_API_CALL
RegisterCustomOps(OrtSessionOptions *Options, const OrtApiBase *Base) {
  // NOLINTEND(readability-identifier-naming)
  const OrtApi *Api = Base->GetApi(16);
  // For each session its own, which stays: nobody tells when the session ends.
  OrtCustomOpDomain *Domain = nullptr;
  OrtStatus *S = Api->CreateCustomOpDomain("my_ops", &Domain);
  if (!S)
    S = Api->CustomOpDomain_Add(Domain, &BitLength);
  return S ? S : Api->AddCustomOpDomain(Options, Domain);
}
