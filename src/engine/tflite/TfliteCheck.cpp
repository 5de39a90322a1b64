//===- TfliteCheck.cpp - What TFLite does not check -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/tflite/TfliteCheck.h"

#include <cstring>
#include <string>
#include <vector>

namespace cbridge {

namespace {

/// A FlatBuffer. Whatever is not inside its bytes reads as 0, and is noted.
class Buffer {
public:
  explicit Buffer(Bytes Data) : Data(Data), Budget(Data.size() * 16) {}

  template <typename T> T read(size_t At) {
    T Value{};
    if (At > Data.size() || Data.size() - At < sizeof(T))
      Bad = true;
    else
      std::memcpy(&Value, Data.data() + At, sizeof(T));
    return Value;
  }
  size_t follow(size_t At) { return At + read<uint32_t>(At); }
  /// Where a table has field number I; 0 if nowhere.
  size_t field(size_t Table, size_t I) {
    size_t Fields = size_t(int64_t(Table) - read<int32_t>(Table));
    size_t Slot = 4 + 2 * I;
    if (Bad || Slot + 2 > read<uint16_t>(Fields))
      return 0;
    uint16_t Offset = read<uint16_t>(Fields + Slot);
    return Offset ? Table + Offset : 0;
  }
  template <typename T> T scalar(size_t Table, size_t I, T Default) {
    size_t At = field(Table, I);
    return At ? read<T>(At) : Default;
  }

  /// Vectors may share their bytes: counts what is looked at.
  bool spend(size_t Elements) {
    Bad |= Elements > Budget;
    Budget -= Bad ? 0 : Elements;
    return !Bad;
  }
  bool bad() const { return Bad; }

private:
  Bytes Data;
  size_t Budget;
  bool Bad = false;
};

/// A vector of 4-byte elements: numbers, or offsets of tables.
struct Vector {
  size_t At = 0, Size = 0;
  bool There = false;

  Vector(Buffer &In, size_t Table, size_t Field) {
    size_t Place = In.field(Table, Field);
    if (!Place)
      return;
    There = true;
    At = In.follow(Place);
    Size = In.read<uint32_t>(At);
    At += 4;
    if (!In.spend(Size))
      Size = 0;
  }
  int32_t number(Buffer &In, size_t I) const {
    return In.read<int32_t>(At + 4 * I);
  }
  size_t table(Buffer &In, size_t I) const { return In.follow(At + 4 * I); }
};

// The numbers of fields, as TFLite's schema has them.
enum ModelField { Operators = 1, Subgraphs = 2, Buffers = 4 };
enum GraphField { Tensors = 0, Inputs = 1, Outputs = 2, Nodes = 3 };
enum TensorField { Shape = 0, Memory = 2, IsVariable = 5 };
enum NodeField { Opcode = 0, NodeInputs = 1, NodeOutputs = 2 };
enum BufferField { Content = 0, FarOffset = 1, FarSize = 2 };

class Checker {
public:
  Checker(Bytes Data) : In(Data) {}

  Status check() {
    size_t Root = In.follow(0);
    Vector Codes(In, Root, Operators), Graphs(In, Root, Subgraphs),
        Constants(In, Root, Buffers);
    if (!Codes.There || !Constants.There || Graphs.Size == 0)
      return wrong("it has no operators, graphs or buffers");
    for (size_t G = 0; G < Graphs.Size; ++G)
      if (Status S = graph(Graphs.table(In, G), Codes.Size, Constants); !S)
        return S;
    return In.bad() ? wrong("it ends early") : Status();
  }

private:
  static Status wrong(const std::string &Why) {
    return Status::error(StatusCode::Protocol, "no valid TFLite model: " + Why);
  }

  Status graph(size_t Graph, size_t CodeCount, const Vector &Constants) {
    Vector All(In, Graph, Tensors), Given(In, Graph, Inputs),
        Results(In, Graph, Outputs), Steps(In, Graph, Nodes);
    std::vector<bool> Has(All.Size);
    for (size_t T = 0; T < All.Size && !In.bad(); ++T)
      Has[T] = hasValue(All.table(In, T), Constants);
    if (Status S = write(Given, Has, "a graph's input"); !S)
      return S;
    for (size_t N = 0; N < Steps.Size && !In.bad(); ++N) {
      size_t Node = Steps.table(In, N);
      std::string Which = "operator " + std::to_string(N);
      if (In.scalar<uint32_t>(Node, Opcode, 0) >= CodeCount)
        return wrong(Which + " is of no known kind");
      // An input that is left out is -1.
      if (Status S = see(Vector(In, Node, NodeInputs), Has, -1, Which); !S)
        return S;
      if (Status S = write(Vector(In, Node, NodeOutputs), Has, Which); !S)
        return S;
    }
    return see(Results, Has, 0, "a graph's output");
  }

  /// Whether it need not be computed.
  bool hasValue(size_t Tensor, const Vector &Constants) {
    if (In.scalar<uint8_t>(Tensor, IsVariable, 0))
      return true;
    Vector Extents(In, Tensor, Shape);
    for (size_t D = 0; D < Extents.Size; ++D)
      if (Extents.number(In, D) == 0)
        return true; // of nothing
    size_t Number = In.scalar<uint32_t>(Tensor, Memory, 0);
    if (Number >= Constants.Size)
      return false;
    size_t Constant = Constants.table(In, Number);
    return Vector(In, Constant, Content).Size != 0 ||
           In.scalar<uint64_t>(Constant, FarSize, 0) != 0;
  }

  Status write(const Vector &List, std::vector<bool> &Has,
               const std::string &Who) {
    for (size_t I = 0; I < List.Size && !In.bad(); ++I) {
      int32_t T = List.number(In, I);
      if (T < 0 || size_t(T) >= Has.size())
        return missing(Who, T);
      Has[size_t(T)] = true;
    }
    return Status();
  }
  Status see(const Vector &List, const std::vector<bool> &Has, int32_t Least,
             const std::string &Who) {
    for (size_t I = 0; I < List.Size && !In.bad(); ++I) {
      int32_t T = List.number(In, I);
      if (T < Least || T >= int64_t(Has.size()))
        return missing(Who, T);
      if (T >= 0 && !Has[size_t(T)])
        return wrong(Who + " reads tensor " + std::to_string(T) +
                     ", which nothing has written");
    }
    return Status();
  }
  static Status missing(const std::string &Who, int32_t T) {
    return wrong(Who + " is tensor " + std::to_string(T) +
                 ", which is not there");
  }

  Buffer In;
};

} // namespace

Status checkTflite(Bytes Model) { return Checker(Model).check(); }

} // namespace cbridge
