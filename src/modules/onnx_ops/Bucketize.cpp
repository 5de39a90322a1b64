//===- Bucketize.cpp - compiler_bridge::Bucketize -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bucketize(x, boundaries) {right = 0}: for each x the index of the first
// boundary that is not below it or, if right is 1, of the first that is above
// it; without one, how many there are. NaN is above all: torch.bucketize.
//
//===----------------------------------------------------------------------===//
#include "modules/onnx_ops/Operator.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace cbridge::onnx_ops {

namespace {

constexpr char Name[] = "compiler_bridge::Bucketize";

struct Kernel {
  const OrtApi &Api;
  bool Right;
};

// One operator for each element type: a model with another is refused when it
// is opened.
template <typename T>
constexpr auto TypeOf = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
template <> constexpr auto TypeOf<float> = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
template <>
constexpr auto TypeOf<double> = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
template <>
constexpr auto TypeOf<int32_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
template <>
constexpr auto TypeOf<int64_t> = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;

OrtStatus *ORT_API_CALL create(const OrtCustomOp *, const OrtApi *Api,
                               const OrtKernelInfo *Info, void **To) {
  int64_t Right = 0;
  // An attribute that is not there is an error to ONNX Runtime, not to us.
  if (OrtStatus *S = Api->KernelInfoGetAttribute_int64(Info, "right", &Right))
    Api->ReleaseStatus(S);
  if (Right != 0 && Right != 1)
    return failure(*Api, "%s: attribute 'right' is %lld, expected 0 or 1", Name,
                   static_cast<long long>(Right));
  *To = new (std::nothrow) Kernel{*Api, Right == 1};
  return *To ? nullptr : failure(*Api, "%s: out of memory", Name);
}

void ORT_API_CALL destroy(void *Made) { delete static_cast<Kernel *>(Made); }

/// Null if Boundaries are what they must be.
template <typename T>
OrtStatus *checkBoundaries(const OrtApi &Api, const InputTensor &Boundaries) {
  if (Boundaries.Rank != 1)
    return failure(Api, "%s: 'boundaries' has %zu extents, expected 1", Name,
                   Boundaries.Rank);
  const T *Begin = static_cast<const T *>(Boundaries.Data);
  const T *End = Begin + Boundaries.Count;
  if (const T *Nan =
          std::find_if(Begin, End, [](T Each) { return Each != Each; });
      Nan != End)
    return failure(Api, "%s: boundaries[%td] is NaN", Name, Nan - Begin);
  const T *Low = std::is_sorted_until(Begin, End);
  if (Low == End)
    return nullptr;
  return failure(
      Api, "%s: boundaries are not sorted: [%td] is %.17g, [%td] is %.17g",
      Name, Low - Begin - 1, double(Low[-1]), Low - Begin, double(*Low));
}

template <typename T>
void fill(const T *X, size_t Count, const T *Begin, const T *End, bool Right,
          int64_t *To) {
  // Written so that NaN is above all.
  auto Below = [](T Boundary, T Value) { return !(Boundary >= Value); };
  auto Above = [](T Value, T Boundary) { return Boundary > Value; };
  for (size_t I = 0; I < Count; ++I)
    To[I] = (Right ? std::upper_bound(Begin, End, X[I], Above)
                   : std::lower_bound(Begin, End, X[I], Below)) -
            Begin;
}

template <typename T>
OrtStatus *ORT_API_CALL compute(void *Made, OrtKernelContext *Context) {
  const Kernel &K = *static_cast<Kernel *>(Made);
  InputTensor X, Boundaries;
  if (OrtStatus *S = readInput(K.Api, Context, 0, X))
    return S;
  if (OrtStatus *S = readInput(K.Api, Context, 1, Boundaries))
    return S;
  if (OrtStatus *S = checkBoundaries<T>(K.Api, Boundaries))
    return S;
  OrtValue *Value = nullptr;
  if (OrtStatus *S =
          K.Api.KernelContext_GetOutput(Context, 0, X.Extents, X.Rank, &Value))
    return S;
  void *Data = nullptr;
  if (OrtStatus *S = K.Api.GetTensorMutableData(Value, &Data))
    return S;
  const T *Begin = static_cast<const T *>(Boundaries.Data);
  fill(static_cast<const T *>(X.Data), X.Count, Begin, Begin + Boundaries.Count,
       K.Right, static_cast<int64_t *>(Data));
  return nullptr;
}

template <typename T> constexpr OrtCustomOp describe() {
  OrtCustomOp Op = {};
  Op.version = ApiNeeded;
  Op.GetName = [](const OrtCustomOp *) { return "Bucketize"; };
  Op.GetExecutionProviderType = [](const OrtCustomOp *) -> const char * {
    return nullptr; // the CPU
  };
  Op.GetInputTypeCount = [](const OrtCustomOp *) -> size_t { return 2; };
  Op.GetInputType = [](const OrtCustomOp *, size_t) { return TypeOf<T>; };
  Op.GetInputCharacteristic = [](const OrtCustomOp *, size_t) {
    return INPUT_OUTPUT_REQUIRED;
  };
  Op.GetInputMemoryType = [](const OrtCustomOp *, size_t) {
    return OrtMemTypeDefault;
  };
  Op.GetOutputTypeCount = [](const OrtCustomOp *) -> size_t { return 1; };
  Op.GetOutputType = [](const OrtCustomOp *, size_t) {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  };
  Op.GetOutputCharacteristic = [](const OrtCustomOp *, size_t) {
    return INPUT_OUTPUT_REQUIRED;
  };
  Op.CreateKernelV2 = create;
  Op.KernelComputeV2 = compute<T>;
  Op.KernelDestroy = destroy;
  return Op;
}

template <typename T> constexpr OrtCustomOp Bucketize = describe<T>();

constexpr const OrtCustomOp *All[] = {&Bucketize<float>, &Bucketize<double>,
                                      &Bucketize<int32_t>, &Bucketize<int64_t>};

} // namespace

OperatorList bucketizeOperators() { return {All, std::size(All)}; }

} // namespace cbridge::onnx_ops
