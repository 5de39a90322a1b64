//===- OutputSpec.cpp - MLGO's output_spec.json ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/tflite/OutputSpec.h"

#include "core/SignatureJson.h"

#include <algorithm>
#include <optional>

namespace cbridge {

namespace {

/// Reads one file; what is wrong is told by entry and field.
class SpecReader {
public:
  explicit SpecReader(std::string_view Text) : Json(Text) {}

  bool read(std::vector<OutputSpec> &To) {
    return Json.array([&] {
      if (To.size() == MaxTensors)
        return Json.fail("more than " + std::to_string(MaxTensors) +
                         " outputs");
      return entry(To);
    }) && Json.atEnd() &&
           (!To.empty() || Json.fail("it lists no output"));
  }
  JsonReader Json;

private:
  bool entry(std::vector<OutputSpec> &To) {
    std::optional<std::string> Name;
    std::optional<TensorSpec> Tensor;
    int Port = 0;
    bool Read = Json.object([&](std::string_view Key) {
      if (Key == "logging_name")
        return Json.string(Name.emplace()) && !Name->empty();
      if (Key == "tensor_spec")
        return tensor(Tensor, Port);
      return Json.skipValue();
    });
    std::string Which = "output " + std::to_string(To.size());
    if (!Read)
      return false;
    if (!Name || !Tensor)
      return Json.fail(Which + " has no '" +
                       (Name ? "tensor_spec'" : "logging_name'"));
    for (const OutputSpec &Each : To)
      if (Each.Spec.name() == *Name)
        return Json.fail("two outputs have the logging_name '" + *Name + "'");
    TensorSpec Spec(*Name, Tensor->type(),
                    {Tensor->shape().begin(), Tensor->shape().end()});
    To.push_back({std::move(Spec), Tensor->name(), Port});
    return true;
  }

  bool tensor(std::optional<TensorSpec> &To, int &Port) {
    std::optional<std::string> Name, Type;
    std::optional<std::vector<int64_t>> Shape;
    bool Read = Json.object([&](std::string_view Key) {
      if (Key == "name")
        return Json.string(Name.emplace());
      if (Key == "port")
        return Json.number(Port) && (Port >= 0 || Json.fail("'port' is < 0"));
      if (Key == "type")
        return Json.string(Type.emplace());
      if (Key == "shape")
        return shape(Shape.emplace());
      return Json.skipValue();
    });
    if (!Read)
      return false;
    if (!Name || !Type || !Shape)
      return Json.fail(std::string("'tensor_spec' has no '") +
                       (!Name   ? "name"
                        : !Type ? "type"
                                : "shape") +
                       "'");
    Expected<ElementType> Parsed = parseElementType(*Type);
    if (!Parsed)
      return Json.fail("'type': " + Parsed.status().message());
    To.emplace(std::move(*Name), *Parsed, std::move(*Shape));
    Status S = To->validate();
    return S.ok() || Json.fail("'tensor_spec': " + S.message());
  }

  bool shape(std::vector<int64_t> &To) {
    return Json.array([&] {
      if (To.size() == MaxRank)
        return Json.fail("'shape' has more than 8 extents");
      return Json.number(To.emplace_back());
    });
  }
};

} // namespace

Expected<std::vector<OutputSpec>> readOutputSpecs(std::string_view Text,
                                                  const std::string &File) {
  std::vector<OutputSpec> Specs;
  SpecReader Reader(Text);
  if (Reader.read(Specs))
    return Specs;
  size_t At = std::min(Reader.Json.failedAt(), Text.size());
  auto Line = 1 + std::count(Text.begin(), Text.begin() + ptrdiff_t(At), '\n');
  return Reader.Json.status().withContext(File + ":" + std::to_string(Line));
}

} // namespace cbridge
