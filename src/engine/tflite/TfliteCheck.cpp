//===- TfliteCheck.cpp - What TFLite does not check -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/tflite/TfliteCheck.h"

#include <cbridge/TensorStorage.h>

#include <algorithm>
#include <cstring>
#include <iterator>
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
enum ModelField { Operators = 1, Subgraphs = 2, Constants = 4 };
enum GraphField { Tensors = 0, Inputs = 1, Outputs = 2, Nodes = 3 };
enum TensorField {
  Shape = 0,
  Type = 1,
  Memory = 2,
  IsVariable = 5,
  Sparse = 6
};
enum CodeField { OldCode = 0, Code = 3 };
enum NodeField { Opcode = 0, NodeInputs = 1, NodeOutputs = 2 };
enum BufferField { Content = 0, FarSize = 2 };

/// Bytes per element of the schema's types, from FLOAT32 on. Those of another
/// size, such as strings and halves of bytes, count as one.
constexpr uint8_t TypeSizes[] = {4,  2, 4, 1, 8, 1, 1, 2, 8, 1, 8,
                                 16, 8, 1, 1, 4, 2, 1, 2, 1, 1};
constexpr size_t OtherSize[] = {5, 13, 14, 17, 19, 20};
/// Operators with inputs that may be left out: the convolutions, fully
/// connected layers, recurrent ones, and what TFLite knows nothing of.
constexpr int32_t WithOptional[] = {3,  4,  9,  16, 27,  32,
                                    44, 46, 52, 67, 132, 141};

constexpr int32_t Slice = 65;

/// Of a tensor, while a graph is followed.
enum class Has : uint8_t { Nothing, Value, Constant };

class Checker {
public:
  Checker(Bytes Data) : In(Data) {}

  Status check() {
    size_t Root = In.follow(0);
    Vector Codes(In, Root, Operators), Graphs(In, Root, Subgraphs);
    Vector Buffers(In, Root, Constants);
    if (!Codes.There || !Buffers.There || Graphs.Size == 0)
      return wrong("it has no operators, graphs or buffers");
    for (size_t G = 0; G < Graphs.Size; ++G)
      if (Status S = graph(Graphs.table(In, G), Codes, Buffers); !S)
        return S;
    return In.bad() ? wrong("it ends early") : Status();
  }

private:
  static Status wrong(const std::string &Why) {
    return Status::error(StatusCode::Protocol, "no valid TFLite model: " + Why);
  }

  Status graph(size_t Graph, const Vector &Codes, const Vector &Buffers) {
    Vector All(In, Graph, Tensors), Given(In, Graph, Inputs),
        Results(In, Graph, Outputs), Steps(In, Graph, Nodes);
    std::vector<Has> Of(All.Size, Has::Nothing);
    for (size_t T = 0; T < All.Size && !In.bad(); ++T)
      if (Status S = tensor(All.table(In, T), Buffers, Of[T]); !S)
        return S.withContext("tensor " + std::to_string(T));
    if (Status S = write(Given, Of, "a graph's input"); !S)
      return S;
    for (size_t N = 0; N < Steps.Size && !In.bad(); ++N)
      if (Status S = node(Steps.table(In, N), N, Codes, Of); !S)
        return S;
    return see(Results, Of, 0, "a graph's output");
  }

  Status node(size_t Node, size_t N, const Vector &Codes,
              std::vector<Has> &Of) {
    std::string Which = "operator " + std::to_string(N);
    size_t Kind = In.scalar<uint32_t>(Node, Opcode, 0);
    if (Kind >= Codes.Size)
      return wrong(Which + " is of no known kind");
    size_t Is = Codes.table(In, Kind);
    int32_t Number = std::max(int32_t(In.scalar<int8_t>(Is, OldCode, 0)),
                              In.scalar<int32_t>(Is, Code, 0));
    bool MayLack = std::count(std::begin(WithOptional), std::end(WithOptional),
                              Number) != 0;
    // An input that is left out is -1.
    Vector Reads(In, Node, NodeInputs), Writes(In, Node, NodeOutputs);
    if (Status S = see(Reads, Of, MayLack ? -1 : 0, Which); !S)
      return S;
    for (size_t I = 1; Number == Slice && I < Reads.Size; ++I)
      if (Of[size_t(Reads.number(In, I))] != Has::Constant)
        return wrong(Which + " (SLICE) computes where to cut, which TFLite "
                             "does not check: use a constant, or GATHER");
    return write(Writes, Of, Which);
  }

  /// TFLite gets memory for what a tensor says of itself.
  Status tensor(size_t Tensor, const Vector &Buffers, Has &To) {
    size_t Kind = In.scalar<uint8_t>(Tensor, Type, 0);
    if (Kind >= std::size(TypeSizes))
      return wrong("its type " + std::to_string(Kind) + " is unknown");
    Vector Extents(In, Tensor, Shape);
    uint64_t Size = TypeSizes[Kind];
    for (size_t D = 0; D < Extents.Size; ++D) {
      int32_t Extent = Extents.number(In, D);
      if (Extent < -1)
        return wrong("it has an extent of " + std::to_string(Extent));
      Size *= Extent == -1 ? 1 : uint64_t(Extent);
      if (Size > TensorStorage::MaxTensorBytes)
        return Status::error(StatusCode::OutOfMemory, "wants more than 1 GiB");
    }
    size_t Held = constantBytes(Tensor, Buffers);
    bool AnySize = std::count(std::begin(OtherSize), std::end(OtherSize), Kind);
    if (Held && Held != Size && !AnySize && !In.field(Tensor, Sparse))
      return wrong("its value has " + std::to_string(Held) +
                   " bytes, its shape " + std::to_string(Size));
    if (In.scalar<uint8_t>(Tensor, IsVariable, 0) || Size == 0)
      To = Has::Value;
    else if (Held)
      To = Has::Constant;
    return Status();
  }

  size_t constantBytes(size_t Tensor, const Vector &Buffers) {
    size_t Number = In.scalar<uint32_t>(Tensor, Memory, 0);
    if (Number >= Buffers.Size)
      return 0;
    size_t Constant = Buffers.table(In, Number);
    size_t Near = Vector(In, Constant, Content).Size;
    return Near ? Near : In.scalar<uint64_t>(Constant, FarSize, 0);
  }

  Status write(const Vector &List, std::vector<Has> &Of,
               const std::string &Who) {
    for (size_t I = 0; I < List.Size && !In.bad(); ++I) {
      int32_t T = List.number(In, I);
      if (T < 0 || size_t(T) >= Of.size())
        return missing(Who, T);
      if (Of[size_t(T)] == Has::Constant)
        return wrong(Who + " is tensor " + std::to_string(T) + ", a constant");
      Of[size_t(T)] = Has::Value;
    }
    return Status();
  }
  Status see(const Vector &List, const std::vector<Has> &Of, int32_t Least,
             const std::string &Who) {
    for (size_t I = 0; I < List.Size && !In.bad(); ++I) {
      int32_t T = List.number(In, I);
      if (T < Least || T >= int64_t(Of.size()))
        return missing(Who, T);
      if (T >= 0 && Of[size_t(T)] == Has::Nothing)
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
