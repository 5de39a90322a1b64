//===- OrtTensors.cpp - Types and shapes of ONNX Runtime's ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/OrtTensors.h"

#include <optional>

namespace cbridge::onnx {

/// ONNX Runtime's types in the order of ElementType.
static constexpr ONNXTensorElementDataType Types[] = {
    ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,   ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
};

ONNXTensorElementDataType toOrt(ElementType Type) {
  return Types[static_cast<size_t>(Type)];
}

std::optional<ElementType> fromOrt(ONNXTensorElementDataType Type) {
  for (size_t I = 0; I < std::size(Types); ++I)
    if (Types[I] == Type)
      return static_cast<ElementType>(I);
  return std::nullopt;
}

/// For messages; the types that a pass has none of.
static std::string typeName(ONNXTensorElementDataType Type) {
  switch (Type) {
  case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    return "float16";
  case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    return "bfloat16";
  default:
    return "of ONNX's element type " + std::to_string(int(Type));
  }
}

static Expected<TensorSpec> specOf(const OrtLibrary &Ort, std::string Name,
                                   const OrtTypeInfo *Type) {
  const OrtApi &Api = Ort.api();
  auto Wrong = [&](const std::string &Why) {
    return Status::error(StatusCode::Unsupported, "'" + Name + "' is " + Why);
  };
  const OrtTensorTypeAndShapeInfo *Info = nullptr;
  if (Status S = Ort.check(Api.CastTypeInfoToTensorInfo(Type, &Info)); !S)
    return S;
  if (!Info)
    return Wrong("no tensor");
  ONNXTensorElementDataType Element{};
  size_t Rank = 0;
  if (Status S = Ort.check(Api.GetTensorElementType(Info, &Element)); !S)
    return S;
  if (Status S = Ort.check(Api.GetDimensionsCount(Info, &Rank)); !S)
    return S;
  std::optional<ElementType> Ours = fromOrt(Element);
  if (!Ours)
    return Wrong(typeName(Element) + ", which no feature or decision can be");
  if (Rank > MaxRank)
    return Wrong("of rank " + std::to_string(Rank) + ", more than " +
                 std::to_string(MaxRank));
  std::vector<int64_t> Shape(Rank);
  if (Status S = Ort.check(Api.GetDimensions(Info, Shape.data(), Rank)); !S)
    return S;
  for (int64_t &Extent : Shape)
    Extent = Extent < 0 ? Dynamic : Extent;
  TensorSpec Spec(std::move(Name), *Ours, std::move(Shape));
  if (Status S = Spec.validate(); !S)
    return S;
  return Spec;
}

Expected<std::vector<GraphTensor>>
graphTensors(const OrtLibrary &Ort, const OrtSession *Session, Side Of) {
  const OrtApi &Api = Ort.api();
  bool In = Of == Side::Input;
  size_t Count = 0;
  if (Status S = Ort.check((In ? Api.SessionGetInputCount
                               : Api.SessionGetOutputCount)(Session, &Count));
      !S)
    return S;
  OrtAllocator *Allocator = nullptr;
  if (Status S = Ort.check(Api.GetAllocatorWithDefaultOptions(&Allocator)); !S)
    return S;
  std::vector<GraphTensor> List;
  for (size_t I = 0; I < Count; ++I) {
    char *Name = nullptr;
    if (Status S =
            Ort.check((In ? Api.SessionGetInputName : Api.SessionGetOutputName)(
                Session, I, Allocator, &Name));
        !S)
      return S;
    std::string Held = Name;
    Allocator->Free(Allocator, Name);
    auto Type =
        ortMake<OrtTypeInfo>(Ort, Api.ReleaseTypeInfo, [&](OrtTypeInfo **To) {
          return (In ? Api.SessionGetInputTypeInfo
                     : Api.SessionGetOutputTypeInfo)(Session, I, To);
        });
    if (!Type)
      return Type.status();
    List.push_back({Held, specOf(Ort, Held, Type->get())});
  }
  return List;
}

} // namespace cbridge::onnx
