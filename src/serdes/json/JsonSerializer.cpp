//===- JsonSerializer.cpp - Readable tensors ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "serdes/json/JsonSerializer.h"

#include "core/FloatText.h"
#include "core/ForElementType.h"
#include "core/Json.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace cbridge {

namespace {

/// Appends to a Message; remembers if memory ran out.
class Writer {
public:
  explicit Writer(Message &To) : To(To) {}

  void text(std::string_view Text) {
    if (unsigned char *At = room(Text.size())) {
      std::memcpy(At, Text.data(), Text.size());
      To.wrote(Text.size());
    }
  }
  /// Values separated by commas. Room is asked for once per batch.
  template <typename T> void values(const unsigned char *From, size_t Count) {
    constexpr size_t Longest = 32, Batch = 1024;
    for (size_t Begin = 0; Begin < Count; Begin += Batch) {
      size_t End = std::min(Count, Begin + Batch);
      auto *Start = reinterpret_cast<char *>(room((End - Begin) * Longest));
      if (!Start)
        return;
      char *At = Start;
      for (size_t I = Begin; I < End; ++I) {
        T Value;
        std::memcpy(&Value, From + I * sizeof(T), sizeof(T));
        if (I)
          *At++ = ',';
        At = value(At, At + Longest, Value);
      }
      To.wrote(size_t(At - Start));
    }
  }
  bool ok() const { return !Full; }

private:
  unsigned char *room(size_t Size) {
    unsigned char *At = Full ? nullptr : To.room(Size);
    Full |= !At;
    return At;
  }
  static char *word(char *At, std::string_view Word) {
    std::memcpy(At, Word.data(), Word.size());
    return At + Word.size();
  }
  template <typename T> static char *value(char *At, char *End, T Value) {
    if constexpr (std::is_same_v<T, bool>) {
      return word(At, Value ? "true" : "false");
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(Value))
        return word(At, std::isnan(Value) ? "\"NaN\""
                        : Value > 0       ? "\"Infinity\""
                                          : "\"-Infinity\"");
      if (Value == 0) // "-0" would be an integer to other readers
        return word(At, std::signbit(Value) ? "-0.0" : "0");
    }
    if constexpr (std::is_same_v<T, float>)
      return writeFloat(At, Value);
    else if constexpr (!std::is_same_v<T, bool>)
      return std::to_chars(At, End, Value).ptr;
  }

  Message &To;
  bool Full = false;
};

/// Decoded elements, one tensor behind the other.
class Elements {
public:
  explicit Elements(AlignedBuffer &Buffer) : Buffer(Buffer) {}

  size_t size() const { return Size; }
  unsigned char *at(size_t Offset) const { return Buffer.data() + Offset; }
  /// Room for one more, which counts at once; null without memory.
  template <typename T> T *next() {
    if (!room(sizeof(T)))
      return nullptr;
    Size += sizeof(T);
    return reinterpret_cast<T *>(Buffer.data() + Size - sizeof(T));
  }
  bool append(const void *From, size_t Count) {
    if (!room(Count))
      return false;
    if (Count)
      std::memcpy(Buffer.data() + Size, From, Count);
    Size += Count;
    return true;
  }
  bool align() {
    static constexpr unsigned char Zeros[TensorAlignment] = {};
    return append(Zeros, alignUp(Size) - Size);
  }

private:
  bool room(size_t Count) {
    return Size + Count <= Buffer.capacity() ||
           Buffer.reserve(Size + Count + Size / 2 + 4096, Size);
  }

  AlignedBuffer &Buffer;
  size_t Size = 0;
};

template <typename T>
bool readValues(JsonReader &Reader, Elements &To, size_t &Count) {
  return Reader.array([&] {
    T *Value = To.next<T>();
    if (!Value)
      return Reader.fail("too long");
    ++Count;
    if constexpr (std::is_same_v<T, bool>)
      return Reader.boolean(*Value);
    else
      return Reader.number(*Value);
  });
}

/// Strings as the in-memory form has them: offsets, then characters.
bool readStrings(JsonReader &Reader, std::string &Text,
                 AlignedBuffer &OffsetsMemory, AlignedBuffer &CharactersMemory,
                 Elements &To, size_t &Count) {
  Elements Offsets(OffsetsMemory), Characters(CharactersMemory);
  uint64_t End = 0;
  if (!Offsets.append(&End, sizeof(End)))
    return Reader.fail("too long");
  bool Read = Reader.array([&] {
    if (!Reader.string(Text))
      return false;
    ++Count;
    End += Text.size();
    return (Characters.append(Text.data(), Text.size()) &&
            Offsets.append(&End, sizeof(End))) ||
           Reader.fail("too long");
  });
  return Read && ((To.append(Offsets.at(0), Offsets.size()) &&
                   To.append(Characters.at(0), Characters.size())) ||
                  Reader.fail("too long"));
}

std::optional<size_t> specIndex(const std::vector<TensorSpec> &Specs,
                                std::string_view Name) {
  for (size_t I = 0; I < Specs.size(); ++I)
    if (Specs[I].name() == Name)
      return I;
  return std::nullopt;
}

} // namespace

Status JsonSerializer::encode(Span<const TensorView> Tensors, Message &To) {
  To.clear();
  Writer W(To);
  for (size_t I = 0; I < Tensors.size(); ++I) {
    const TensorView &V = Tensors[I];
    Text = I ? "," : "{";
    appendJsonString(Text, V.Spec->name());
    Text += ":{\"type\":\"";
    Text += toString(V.Spec->type());
    Text += "\",\"shape\":[";
    W.text(Text);
    W.values<int64_t>(reinterpret_cast<const unsigned char *>(V.Extents.data()),
                      V.Extents.size());
    W.text("],\"values\":[");
    if (V.Spec->isString()) {
      for (size_t S = 0; S < V.elementCount(); ++S) {
        Text = S ? "," : "";
        appendJsonString(Text, V.string(S));
        W.text(Text);
      }
    } else {
      forElementType(V.Spec->type(), [&](auto Tag) {
        W.values<decltype(Tag)>(V.Data.data(), V.Data.size() / sizeof(Tag));
      });
    }
    W.text("]}");
  }
  W.text(Tensors.empty() ? "{}" : "}");
  if (!W.ok())
    return Status::error(StatusCode::OutOfMemory, "no memory for a message");
  return Status();
}

Status JsonSerializer::decode(Bytes Payload, DecodedTensors &To) {
  Elements Buffer(To.Backing);
  Places.assign(To.Specs->size(), Place());
  JsonReader Reader(
      {reinterpret_cast<const char *>(Payload.data()), Payload.size()});
  Status Mismatch; // well-formed, but not what the signature says

  auto ReadTensor = [&](size_t I) {
    const TensorSpec &Spec = (*To.Specs)[I];
    Place &P = Places[I];
    size_t Count = 0, Rank = 0;
    bool HasShape = false, HasValues = false;
    bool Read = Buffer.align() && Reader.object([&](std::string_view Key) {
      if (Key == "type") {
        if (!Reader.string(Text))
          return false;
        if (Text != toString(Spec.type()) && Mismatch.ok())
          Mismatch = Status::error(StatusCode::TypeMismatch,
                                   "'" + Spec.name() + "': wanted " +
                                       Spec.typeAndShape() + ", got " + Text);
        return Mismatch.ok() || Reader.fail("wrong type");
      }
      if (Key == "shape") {
        HasShape = true;
        Rank = 0;
        return Reader.array([&] {
          if (Rank == MaxRank)
            return Reader.fail("too many extents");
          return Reader.number(P.Extents[Rank++]);
        });
      }
      if (Key == "values" && !HasValues) {
        HasValues = true;
        P.Offset = Buffer.size();
        bool Values =
            Spec.isString()
                ? readStrings(Reader, Text, Offsets, Characters, Buffer, Count)
                : forElementType(Spec.type(), [&](auto Tag) {
                    return readValues<decltype(Tag)>(Reader, Buffer, Count);
                  });
        P.Size = Buffer.size() - P.Offset;
        return Values;
      }
      return Reader.skipValue();
    });
    if (!Read)
      return Reader.fail("bad tensor");
    if (!HasShape || !HasValues)
      return Reader.fail("a tensor needs \"shape\" and \"values\"");
    Span<const int64_t> Extents(P.Extents.data(), Rank);
    Status S = Spec.checkExtents(Extents);
    Expected<size_t> Wanted = elementCount(Extents);
    if (S.ok() && (!Wanted || *Wanted != Count))
      S = Status::error(StatusCode::ShapeMismatch,
                        "'" + Spec.name() + "': " + std::to_string(Count) +
                            " values do not fill its shape");
    if (!S.ok()) {
      Mismatch = S;
      return Reader.fail("wrong shape");
    }
    P.Seen = true;
    return true;
  };

  std::string Culprit;
  bool Read = Reader.object([&](std::string_view Name) {
    std::optional<size_t> I = specIndex(*To.Specs, Name);
    bool ReadMember = I && Places[*I].Seen ? Reader.fail("given twice")
                      : I                  ? ReadTensor(*I)
                                           : Reader.skipValue();
    if (!ReadMember)
      Culprit = "'" + std::string(Name) + "'";
    return ReadMember;
  }) && Reader.atEnd();
  if (!Mismatch.ok())
    return Mismatch;
  if (!Read)
    return Culprit.empty() ? Reader.status()
                           : Reader.status().withContext(Culprit);
  if (!Buffer.align())
    return Status::error(StatusCode::OutOfMemory, "no memory for a message");
  for (size_t I = 0; I < Places.size(); ++I) {
    if (!Places[I].Seen)
      return Status::error(StatusCode::Protocol,
                           "JSON: '" + (*To.Specs)[I].name() + "' is missing");
    To.set(I, {Places[I].Extents.data(), (*To.Specs)[I].shape().size()},
           {Buffer.at(Places[I].Offset), Places[I].Size});
  }
  return Status();
}

} // namespace cbridge
