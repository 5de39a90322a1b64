//===- GraphSignature.cpp - What a graph takes and gives ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers are fields of onnx.proto. A field that is there twice, or that is
// of another kind, would have to be merged as Protocol Buffers do it: such a
// file is not plain.
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/GraphSignature.h"

#include "core/SignatureJson.h"
#include "core/Wire.h"
#include "engine/onnx/OrtTensors.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace cbridge::onnx {

namespace {

/// Calls Each(reader) for every field of a message; false if one is broken, or
/// as soon as Each is.
template <typename Callable> bool fields(Bytes Message, Callable Each) {
  wire::Reader R(Message);
  while (!R.atEnd())
    if (!R.next() || !Each(R))
      return false;
  return true;
}

/// Takes a field that a message may have once.
bool once(const wire::Reader &R, std::optional<Bytes> &To) {
  if (To || R.Kind != wire::Type::Bytes)
    return false;
  To = R.Content;
  return true;
}
bool once(const wire::Reader &R, std::optional<uint64_t> &To) {
  if (To || R.Kind != wire::Type::Varint)
    return false;
  To = R.Number;
  return true;
}

std::string_view textOf(Bytes Content) {
  return {reinterpret_cast<const char *>(Content.data()), Content.size()};
}

/// Of a TensorProto.DataType: ONNX Runtime's numbers are those of the format.
std::optional<ElementType> elementType(uint64_t Type) {
  if (Type > uint64_t(ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16))
    return std::nullopt;
  return fromOrt(static_cast<ONNXTensorElementDataType>(Type));
}

bool readExtent(Bytes Dimension, std::vector<int64_t> &To) {
  std::optional<uint64_t> Value;
  bool Read = fields(Dimension, [&](const wire::Reader &R) {
    if (R.Field == 1)
      return once(R, Value);
    return R.Field != 2; // which would be the name of one that varies
  });
  if (!Read || !Value || *Value == 0 || *Value > INT64_MAX ||
      To.size() == MaxRank)
    return false;
  To.push_back(int64_t(*Value));
  return true;
}

/// Of a TypeProto.Tensor.
bool readTensor(Bytes Tensor, ElementType &Type,
                std::vector<int64_t> &Extents) {
  std::optional<uint64_t> Kind;
  std::optional<Bytes> Shape;
  bool Read = fields(Tensor, [&](const wire::Reader &R) {
    return R.Field == 1 ? once(R, Kind) : R.Field != 2 || once(R, Shape);
  });
  if (!Read || !Kind || !Shape || !elementType(*Kind))
    return false;
  Type = *elementType(*Kind);
  return fields(*Shape, [&](const wire::Reader &R) {
    return R.Field != 1 ||
           (R.Kind == wire::Type::Bytes && readExtent(R.Content, Extents));
  });
}

/// Of a ValueInfoProto.
bool readValue(const wire::Reader &From, std::vector<TensorSpec> &To) {
  if (From.Kind != wire::Type::Bytes || To.size() == MaxTensors)
    return false;
  std::optional<Bytes> Name, Type, Tensor;
  bool Read = fields(From.Content, [&](const wire::Reader &R) {
    return R.Field == 1 ? once(R, Name) : R.Field != 2 || once(R, Type);
  });
  // Sequences, maps and what is optional are other fields than a tensor.
  constexpr unsigned Denotation = 6;
  Read = Read && Type && fields(*Type, [&](const wire::Reader &R) {
           return R.Field == 1 ? once(R, Tensor) : R.Field == Denotation;
         });
  ElementType Element{};
  std::vector<int64_t> Extents;
  // ONNX Runtime's API cuts names at a NUL.
  if (!Read || !Name || !Tensor ||
      textOf(*Name).find('\0') != std::string_view::npos ||
      !readTensor(*Tensor, Element, Extents))
    return false;
  To.emplace_back(std::string(textOf(*Name)), Element, std::move(Extents));
  return true;
}

/// Leaves out what has a value in the file.
bool removeInitializers(Bytes Graph, std::vector<TensorSpec> &Inputs) {
  std::unordered_set<std::string_view> Names, Known;
  for (const TensorSpec &Each : Inputs)
    Names.insert(Each.name());
  bool Read = fields(Graph, [&](const wire::Reader &R) {
    if (R.Field == 15) // a sparse one
      return false;
    if (R.Field != 5)
      return true;
    std::optional<Bytes> Name;
    if (R.Kind != wire::Type::Bytes ||
        !fields(R.Content, [&](const wire::Reader &Part) {
          return Part.Field != 8 || once(Part, Name);
        }))
      return false;
    if (Name && Names.count(textOf(*Name)))
      Known.insert(textOf(*Name));
    return true;
  });
  Inputs.erase(std::remove_if(Inputs.begin(), Inputs.end(),
                              [&](const TensorSpec &Each) {
                                return Known.count(Each.name()) != 0;
                              }),
               Inputs.end());
  return Read;
}

} // namespace

std::optional<Signature> graphSignature(Bytes Model) {
  std::optional<Bytes> Graph;
  std::vector<TensorSpec> Inputs, Outputs;
  bool Plain = fields(Model, [&](const wire::Reader &R) {
    return R.Field != 7 || once(R, Graph);
  });
  Plain = Plain && Graph && fields(*Graph, [&](const wire::Reader &R) {
            return R.Field == 11   ? readValue(R, Inputs)
                   : R.Field == 12 ? readValue(R, Outputs)
                                   : true;
          });
  if (!Plain || !removeInitializers(*Graph, Inputs))
    return std::nullopt;
  Signature Made(std::move(Inputs), std::move(Outputs));
  if (!Made.validate().ok())
    return std::nullopt;
  return Made;
}

} // namespace cbridge::onnx
