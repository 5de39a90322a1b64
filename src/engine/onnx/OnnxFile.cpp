//===- OnnxFile.cpp - What an ONNX file says about itself -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/OnnxFile.h"

#include "core/SignatureJson.h"
#include "core/Wire.h"
#include "engine/onnx/TensorCheck.h"

#include <algorithm>
#include <map>
#include <utility>

namespace cbridge::onnx {

namespace {

Status broken(const std::string &Why) {
  return Status::error(StatusCode::Unsupported, Why);
}

std::string textOf(Bytes Content) {
  return {reinterpret_cast<const char *>(Content.data()), Content.size()};
}

/// Walks through the messages of onnx.proto; the numbers are its fields.
class OnnxReader {
public:
  explicit OnnxReader(OnnxFile &To) : To(To) {}
  Status model(Bytes Message);

private:
  /// Graphs lie in attributes of nodes of graphs.
  static constexpr int MaxDepth = 16;

  /// Calls Each(reader) for every field of a message that has content.
  template <typename Callable>
  Status fields(Bytes Message, const char *What, Callable Each) {
    wire::Reader R(Message);
    while (!R.atEnd()) {
      if (!R.next())
        return broken(std::string("no ONNX model, or cut off: a ") + What +
                      " is broken at byte " + std::to_string(R.offset()) +
                      " of " + std::to_string(Message.size()));
      if (R.Kind == wire::Type::Bytes)
        if (Status S = Each(R); !S)
          return S;
    }
    return Status();
  }
  Status graph(Bytes Message, int Depth);
  Status node(Bytes Message, int Depth);
  Status attribute(Bytes Message, int Depth);
  Status valueInfo(Bytes Message);
  Status tensor(Bytes Message) {
    return checkTensorProto(Message, To.HasExternalData);
  }
  Status sparse(Bytes Message) {
    return fields(Message, "sparse tensor", [&](wire::Reader &R) {
      return R.Field == 1 ? tensor(R.Content) : Status();
    });
  }
  Status function(Bytes Message);
  Status checkExpansion();
  Status opset(Bytes Message);
  Status metadata(Bytes Message);
  Status declaredSignature(const std::string &Json);

  OnnxFile &To;
  /// Nodes of the graphs, or of one function.
  struct Body {
    uint64_t Nodes = 0;
    std::map<std::string, uint64_t> Calls; // by domain and name
    uint64_t Expanded = 0;                 // once it is known
    bool Open = false;
  };
  uint64_t expanded(Body &Of);
  Body Main;
  Body *Into = &Main;
  std::map<std::string, Body> Functions;
};

/// A function that calls another twice, which calls a third twice, and so on,
/// is a small file and a graph that nobody can hold.
constexpr uint64_t MaxNodes = 1'000'000;

Status OnnxReader::model(Bytes Message) {
  bool HasGraph = false, HasOpset = false;
  Status S = fields(Message, "model", [&](wire::Reader &R) -> Status {
    switch (R.Field) {
    case 7:
      HasGraph = true;
      return graph(R.Content, 0);
    case 8:
      HasOpset = true;
      return opset(R.Content);
    case 14:
      return metadata(R.Content);
    case 25:
      return function(R.Content);
    default:
      return Status();
    }
  });
  if (!S)
    return S;
  if (!HasGraph)
    return broken("no ONNX model: it has no graph");
  if (!HasOpset)
    return broken("no ONNX model: it has no opset_import");
  return checkExpansion();
}

uint64_t OnnxReader::expanded(Body &Of) {
  if (Of.Expanded || Of.Open) // what calls itself, ONNX Runtime refuses
    return Of.Expanded;
  Of.Open = true;
  uint64_t Sum = Of.Nodes;
  for (const auto &[Name, Times] : Of.Calls)
    if (auto Called = Functions.find(Name); Called != Functions.end())
      Sum = std::min(2 * MaxNodes, Sum + std::min(2 * MaxNodes, Times) *
                                             expanded(Called->second));
  Of.Open = false;
  return Of.Expanded = Sum;
}

Status OnnxReader::checkExpansion() {
  if (Functions.empty() || expanded(Main) <= MaxNodes)
    return Status();
  return broken("its functions call each other so often that it would have "
                "more than " +
                std::to_string(MaxNodes) + " nodes");
}

Status OnnxReader::graph(Bytes Message, int Depth) {
  if (Depth > MaxDepth)
    return broken("graphs are nested too deeply");
  return fields(Message, "graph", [&](wire::Reader &R) -> Status {
    switch (R.Field) {
    case 1:
      return node(R.Content, Depth);
    case 5:
      return tensor(R.Content);
    case 15:
      return sparse(R.Content);
    case 11:
    case 12:
      return Depth ? Status() : valueInfo(R.Content);
    default:
      return Status();
    }
  });
}

Status OnnxReader::node(Bytes Message, int Depth) {
  std::string Name, Operator, Domain;
  Status S = fields(Message, "node", [&](wire::Reader &R) -> Status {
    switch (R.Field) {
    case 3:
      Name = shortText(R.Content);
      return Status();
    case 4:
      Operator = textOf(R.Content);
      return Status();
    case 5:
      return attribute(R.Content, Depth);
    case 7:
      Domain = textOf(R.Content);
      return Status();
    default:
      return Status();
    }
  });
  if (S.ok() && Operator.empty())
    S = broken("has no operator");
  ++Into->Nodes;
  ++Into->Calls[Domain.append(":").append(Operator)];
  return S.ok() || Depth ? S : S.withContext("node '" + Name + "'");
}

Status OnnxReader::attribute(Bytes Message, int Depth) {
  std::string Name;
  // Floats are written one by one, or packed by others.
  wire::Reader Each(Message);
  while (!Each.atEnd() && Each.next()) {
    if (Each.is(1, wire::Type::Bytes))
      Name = shortText(Each.Content);
    auto *Float = reinterpret_cast<const unsigned char *>(&Each.Number);
    if (Each.is(7, wire::Type::Fixed32))
      if (Status S = checkFloats({Float, 4}, Name); !S)
        return S;
  }
  return fields(Message, "attribute", [&](wire::Reader &R) -> Status {
    switch (R.Field) {
    case 5:
    case 10:
      return tensor(R.Content);
    case 7:
      return checkFloats(R.Content, Name);
    case 22:
    case 23:
      return sparse(R.Content);
    case 6:
    case 11:
      return graph(R.Content, Depth + 1);
    default:
      return Status();
    }
  });
}

Status OnnxReader::valueInfo(Bytes Message) {
  std::string Name;
  bool IsTensor = false, HasShape = false;
  Status S = fields(Message, "value", [&](wire::Reader &R) -> Status {
    if (R.Field == 1)
      Name = textOf(R.Content);
    if (R.Field != 2)
      return Status();
    return fields(R.Content, "type", [&](wire::Reader &Type) -> Status {
      if (Type.Field != 1)
        return Status();
      IsTensor = true;
      return fields(Type.Content, "tensor type", [&](wire::Reader &Part) {
        HasShape |= Part.Field == 2;
        return Status();
      });
    });
  });
  if (IsTensor && !HasShape)
    To.Shapeless.insert(Name);
  return S;
}

Status OnnxReader::function(Bytes Message) {
  std::string Name, Domain;
  Body Own;
  Body *Before = std::exchange(Into, &Own);
  Status S = fields(Message, "function", [&](wire::Reader &R) {
    if (R.Field == 1)
      Name = textOf(R.Content);
    if (R.Field == 10)
      Domain = textOf(R.Content);
    return R.Field == 7 ? node(R.Content, 0) : Status();
  });
  Into = Before;
  Functions[Domain.append(":").append(Name)] = std::move(Own);
  return S;
}

Status OnnxReader::opset(Bytes Message) {
  return fields(Message, "opset", [&](wire::Reader &R) {
    To.UsesOurOperators |=
        R.Field == 1 && textOf(R.Content) == "compiler_bridge";
    return Status();
  });
}

Status OnnxReader::metadata(Bytes Message) {
  std::string Key, Value;
  Status S = fields(Message, "metadata entry", [&](wire::Reader &R) {
    if (R.Field == 1)
      Key = textOf(R.Content);
    if (R.Field == 2)
      Value = textOf(R.Content);
    return Status();
  });
  if (!S)
    return S;
  if (Key == "cbridge.format" && Value != "1")
    return broken("metadata 'cbridge.format' is '" + Value.substr(0, 40) +
                  "', this program knows 1");
  return Key == "cbridge.signature" ? declaredSignature(Value) : Status();
}

Status OnnxReader::declaredSignature(const std::string &Json) {
  std::vector<TensorSpec> Inputs, Outputs;
  JsonReader Reader(Json);
  bool Read = Reader.object([&](std::string_view Key) {
    if (Key == "inputs")
      return readSpecs(Reader, Inputs);
    if (Key == "outputs")
      return readSpecs(Reader, Outputs);
    return Reader.skipValue();
  });
  Status S = Read && Reader.atEnd() ? Status() : Reader.status();
  if (Read && S.ok()) {
    To.Declared.emplace(std::move(Inputs), std::move(Outputs));
    S = To.Declared->validate();
  }
  return S.ok() ? S
                : Status::error(StatusCode::Unsupported,
                                "metadata 'cbridge.signature': " + S.message());
}

} // namespace

Expected<OnnxFile> OnnxFile::parse(Bytes Content) {
  if (Content.size() == 0)
    return broken("no ONNX model: the file is empty");
  OnnxFile File;
  if (Status S = OnnxReader(File).model(Content); !S)
    return S;
  return File;
}

} // namespace cbridge::onnx
