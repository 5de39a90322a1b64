//===- SerializerConformanceTest.cpp - For all serializers ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>

using namespace cbridge;

namespace {

using SpecList = std::vector<TensorSpec>;
using Payload = std::vector<unsigned char>;

template <typename T> constexpr T Max = std::numeric_limits<T>::max();
template <typename T> constexpr T Min = std::numeric_limits<T>::min();

class SerializerTest : public testing::TestWithParam<std::string> {
protected:
  Payload encode(const TensorStorage &Tensors) {
    EXPECT_TRUE(Tensors.status().ok()) << Tensors.status().toString();
    Status S = Codec->encode(Tensors.views(), Encoded);
    EXPECT_TRUE(S.ok()) << S.toString();
    Payload All = flatten(Encoded);
    EXPECT_EQ(All.size(), Encoded.size());
    return All;
  }
  static DecodedTensors decodedFor(SpecList Specs) {
    return DecodedTensors(std::make_shared<SpecList>(std::move(Specs)));
  }
  Status decode(const Payload &P, DecodedTensors &To) {
    // Exactly as large as the payload, so that a sanitizer sees every byte
    // that is read beyond it.
    std::unique_ptr<unsigned char[]> Exact(new unsigned char[P.size()]);
    std::copy(P.begin(), P.end(), Exact.get());
    Status S = Codec->decode({Exact.get(), P.size()}, To);
    if (S.ok()) {
      for (const TensorView &V : To.Views)
        EXPECT_EQ(inconsistency(V), "");
    }
    return S;
  }
  Status decode(const Payload &P, SpecList Specs) {
    DecodedTensors To = decodedFor(std::move(Specs));
    return decode(P, To);
  }
  static SpecList specsOf(const TensorStorage &Tensors) {
    SpecList Specs;
    for (const TensorView &V : Tensors.views())
      Specs.push_back(*V.Spec);
    return Specs;
  }
  void expectRoundTrip(const TensorStorage &Tensors) {
    Payload P = encode(Tensors);
    DecodedTensors To = decodedFor(specsOf(Tensors));
    Status S = Codec->decode(P, To);
    ASSERT_TRUE(S.ok()) << S.toString();
    for (const TensorView &V : To.Views)
      EXPECT_EQ(inconsistency(V), "");
    EXPECT_EQ(difference(Tensors.views(), To.Views), "");
  }
  template <typename T> void expectRoundTrip(const std::vector<T> &Values) {
    int64_t Count = int64_t(Values.size());
    for (const std::vector<int64_t> &Shape :
         {std::vector{Count}, std::vector{Dynamic}}) {
      TensorStorage Tensors({TensorSpec::create<T>("x", Shape)});
      ASSERT_TRUE(fill<T>(Tensors, 0, {Count}, Values).ok());
      expectRoundTrip(Tensors);
    }
  }

  static std::unique_ptr<Serializer> make(const std::string &Name) {
    Expected<std::unique_ptr<Serializer>> Made = makeSerializer(Name);
    if (Made)
      return std::move(*Made);
    ADD_FAILURE() << Made.status().toString();
    return nullptr;
  }

  std::unique_ptr<Serializer> Codec = make(GetParam());
  Message Encoded;
};

/// Some of everything: what a pass might send.
TensorStorage mixed() {
  TensorStorage T({TensorSpec::create<int64_t>("count"),
                   TensorSpec::create<float>("embedding", {Dynamic, 3}),
                   TensorSpec::create<bool>("flags", {5}),
                   TensorSpec::create<std::string>("names", {Dynamic}),
                   TensorSpec::create<double>("cost", {}),
                   TensorSpec::create<uint16_t>("grid", {Dynamic, Dynamic})});
  EXPECT_TRUE(fill<int64_t>(T, 0, {1}, {-42}).ok());
  EXPECT_TRUE(fill<float>(T, 1, {2, 3}, {1, -2, 0.5f, 1e10f, 3, 4}).ok());
  EXPECT_TRUE(
      fill<bool>(T, 2, {5}, std::array{true, false, true, true, false}).ok());
  std::string_view Names[] = {"main", "", "a\"b"};
  EXPECT_TRUE(T.setStrings(3, Names, {3}).ok());
  EXPECT_TRUE(fill<double>(T, 4, {}, {0.1}).ok());
  EXPECT_TRUE(fill<uint16_t>(T, 5, {1, 2}, {7, 65535}).ok());
  return T;
}

void fillAtRandom(TensorStorage &Tensors, std::mt19937_64 &Random) {
  for (size_t I = 0; I < Tensors.size(); ++I) {
    const TensorSpec &Spec = Tensors.spec(I);
    std::vector<int64_t> Extents;
    for (int64_t Extent : Spec.shape())
      Extents.push_back(Extent == Dynamic ? int64_t(Random() % 5) : Extent);
    size_t Count = *elementCount(Extents);
    if (Spec.isString()) {
      std::vector<std::string> Texts(Count);
      for (std::string &Text : Texts)
        for (size_t Length = Random() % 20; Length; --Length)
          Text += static_cast<char>(Random());
      std::vector<std::string_view> Views(Texts.begin(), Texts.end());
      ASSERT_TRUE(Tensors.setStrings(I, Views, Extents).ok());
      continue;
    }
    ASSERT_TRUE(Tensors.resize(I, Extents).ok());
    for (unsigned char &Byte : Tensors.bytes(I))
      Byte = static_cast<unsigned char>(
          Spec.type() == ElementType::Bool ? Random() % 2 : Random());
  }
}

TensorStorage tensorsAtRandom(std::mt19937_64 &Random) {
  SpecList Specs;
  for (size_t Left = Random() % 7; Left; --Left) {
    std::vector<int64_t> Shape(Random() % 5);
    for (int64_t &Extent : Shape)
      Extent = Random() % 3 ? int64_t(Random() % 5) : Dynamic;
    Specs.emplace_back("tensor " + std::to_string(Left),
                       ElementType(Random() % 12), Shape);
  }
  TensorStorage Tensors(std::move(Specs));
  fillAtRandom(Tensors, Random);
  return Tensors;
}

Payload bytesOf(std::string_view Text) { return {Text.begin(), Text.end()}; }

Payload bytesOf(const std::vector<uint64_t> &Words) {
  Payload P(Words.size() * 8);
  std::memcpy(P.data(), Words.data(), P.size());
  return P;
}

} // namespace

TEST_P(SerializerTest, HasAName) {
  ASSERT_NE(Codec, nullptr);
  EXPECT_FALSE(makeSerializer(GetParam() + "x"));
  EXPECT_FALSE(makeSerializer(""));
}

TEST_P(SerializerTest, NoTensors) { expectRoundTrip(TensorStorage({})); }

TEST_P(SerializerTest, ManyKindsAtOnce) { expectRoundTrip(mixed()); }

TEST_P(SerializerTest, IntegersAtTheirLimits) {
  expectRoundTrip<int8_t>({Min<int8_t>, -1, 0, 1, Max<int8_t>});
  expectRoundTrip<int16_t>({Min<int16_t>, -1, 0, 1, Max<int16_t>});
  expectRoundTrip<int32_t>({Min<int32_t>, -1, 0, 1, Max<int32_t>});
  expectRoundTrip<int64_t>({Min<int64_t>, Min<int64_t> + 1, -1, 0,
                            (int64_t(1) << 53) + 1, Max<int64_t>});
  expectRoundTrip<uint8_t>({0, 1, Max<uint8_t>});
  expectRoundTrip<uint16_t>({0, 1, Max<uint16_t>});
  expectRoundTrip<uint32_t>({0, 1, Max<uint32_t>});
  expectRoundTrip<uint64_t>(
      {0, 1, (uint64_t(1) << 63) + 1, Max<uint64_t> - 1, Max<uint64_t>});
}

TEST_P(SerializerTest, Booleans) {
  TensorStorage T({TensorSpec::create<bool>("x", {3})});
  ASSERT_TRUE(fill<bool>(T, 0, {3}, std::array{true, false, true}).ok());
  expectRoundTrip(T);
}

template <typename T> static std::vector<T> specialReals() {
  using Limits = std::numeric_limits<T>;
  return {T(0),
          -T(0),
          Limits::quiet_NaN(),
          -Limits::quiet_NaN(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::denorm_min(),
          -Limits::denorm_min(),
          Limits::min(),
          std::nextafter(Limits::min(), T(0)),
          Limits::max(),
          Limits::lowest(),
          Limits::epsilon(),
          std::nextafter(T(1), T(2)),
          std::nextafter(T(1), T(0)),
          T(0.1),
          T(1) / 3,
          T(1e10),
          T(16777217),
          T(123456789.125)};
}

TEST_P(SerializerTest, SpecialReals) {
  expectRoundTrip(specialReals<float>());
  expectRoundTrip(specialReals<double>());
}

/// Text has one NaN; all others carry what its bits say.
TEST_P(SerializerTest, EveryNaNKeepsItsBits) {
  if (GetParam() == "json")
    return;
  TensorStorage Reals({TensorSpec::create<double>("x", {4})});
  const uint64_t Bits[] = {0x7ff0000000000001, 0xfff8000000000000,
                           0x7ff8123456789abc, 0xffffffffffffffff};
  std::memcpy(Reals.bytes(0).data(), Bits, sizeof(Bits));
  Payload P = encode(Reals);
  DecodedTensors To = decodedFor(specsOf(Reals));
  ASSERT_TRUE(Codec->decode(P, To).ok());
  EXPECT_EQ(std::memcmp(To.Views[0].Data.data(), Bits, sizeof(Bits)), 0);
}

TEST_P(SerializerTest, RealsOfEveryMagnitudeExactly) {
  std::vector<float> Floats;
  for (uint32_t Bits = 0; Bits < 0xFF800000; Bits += 0x00012345) {
    Floats.emplace_back();
    std::memcpy(&Floats.back(), &Bits, sizeof(Bits));
  }
  expectRoundTrip(Floats);
  std::mt19937_64 Random(1);
  std::vector<double> Doubles(20000);
  for (double &D : Doubles) {
    uint64_t Bits = Random();
    std::memcpy(&D, &Bits, sizeof(Bits));
  }
  expectRoundTrip(Doubles);
  // Numbers that people write.
  Floats.clear();
  for (int I = -20000; I <= 20000; ++I)
    Floats.push_back(float(I) / 1000);
  expectRoundTrip(Floats);
}

TEST_P(SerializerTest, EveryTypeAtEveryRank) {
  std::mt19937_64 Random(2);
  for (int Type = 0; Type < 12; ++Type)
    for (size_t Rank = 0; Rank <= MaxRank; ++Rank)
      for (int64_t Extent : {int64_t(2), Dynamic}) {
        TensorStorage T({TensorSpec("x", ElementType(Type),
                                    std::vector<int64_t>(Rank, Extent))});
        fillAtRandom(T, Random);
        SCOPED_TRACE(T.spec(0).typeAndShape());
        expectRoundTrip(T);
      }
}

TEST_P(SerializerTest, EmptyTensors) {
  for (int Type = 0; Type < 12; ++Type) {
    TensorStorage T({TensorSpec("none", ElementType(Type), {0}),
                     TensorSpec("first", ElementType(Type), {0, Dynamic}),
                     TensorSpec("some", ElementType(Type), {1}),
                     TensorSpec("last", ElementType(Type), {Dynamic, 0})});
    if (T.spec(0).isString()) {
      ASSERT_TRUE(T.setStrings(1, {}, {0, 7}).ok());
      ASSERT_TRUE(T.setStrings(3, {}, {7, 0}).ok());
    } else {
      ASSERT_TRUE(T.resize(1, {0, 7}).ok());
      ASSERT_TRUE(T.resize(3, {7, 0}).ok());
    }
    SCOPED_TRACE(toString(ElementType(Type)));
    expectRoundTrip(T);
  }
}

TEST_P(SerializerTest, StringsOfAnyContent) {
  TensorStorage T({TensorSpec::create<std::string>("s", {Dynamic}),
                   TensorSpec::create<std::string>("scalar", {})});
  std::string Control;
  for (char C = 1; C < 32; ++C)
    Control += C;
  std::string Long(100000, 'x');
  std::vector<std::string_view> Texts = {"",
                                         "plain",
                                         "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                                         {"\0", 1},
                                         {"a\0b\0", 4},
                                         "\"quoted\"",
                                         "back\\slash\\",
                                         "\\u0041",
                                         Control,
                                         "\x7f\xff\xfe",
                                         "</s>,]}",
                                         Long,
                                         ""};
  ASSERT_TRUE(T.setStrings(0, Texts, {int64_t(Texts.size())}).ok());
  ASSERT_TRUE(T.setStrings(1, {std::string_view("one")}, {}).ok());
  expectRoundTrip(T);

  std::vector<std::string> Many;
  Many.reserve(20000);
  for (int I = 0; I < 20000; ++I)
    Many.push_back(std::to_string(I));
  Texts.assign(Many.begin(), Many.end());
  ASSERT_TRUE(T.setStrings(0, Texts, {int64_t(Texts.size())}).ok());
  expectRoundTrip(T);
}

TEST_P(SerializerTest, NamesOfAnyContent) {
  TensorStorage T({TensorSpec::create<int32_t>("a \"b\"\\\n{}[]:,"),
                   TensorSpec::create<int32_t>(std::string("\0x\x1f", 3)),
                   TensorSpec::create<int32_t>("\xc3\xa9\xff")});
  for (int32_t I = 0; I < 3; ++I)
    ASSERT_TRUE(fill<int32_t>(T, size_t(I), {1}, {I + 1}).ok());
  expectRoundTrip(T);
}

TEST_P(SerializerTest, ManyTensors) {
  SpecList Specs;
  for (int I = 0; I < 500; ++I)
    Specs.push_back(
        TensorSpec("t" + std::to_string(I), ElementType(I % 12), {I % 3}));
  TensorStorage T(std::move(Specs));
  std::mt19937_64 Random(3);
  fillAtRandom(T, Random);
  expectRoundTrip(T);
}

TEST_P(SerializerTest, RandomTensors) {
  std::mt19937_64 Random(4);
  for (int Round = 0; Round < 500 && !HasFailure(); ++Round) {
    SCOPED_TRACE(Round);
    expectRoundTrip(tensorsAtRandom(Random));
  }
}

TEST_P(SerializerTest, MessagesAndResultsAreReused) {
  std::mt19937_64 Random(5);
  TensorStorage Tensors({TensorSpec::create<float>("x", {Dynamic, Dynamic}),
                         TensorSpec::create<std::string>("s", {Dynamic})});
  DecodedTensors To = decodedFor(specsOf(Tensors));
  for (int Round = 0; Round < 50; ++Round) {
    fillAtRandom(Tensors, Random);
    Payload P = encode(Tensors);
    ASSERT_TRUE(Codec->decode(P, To).ok());
    ASSERT_EQ(difference(Tensors.views(), To.Views), "") << Round;
    // A failure in between leaves nothing behind.
    EXPECT_FALSE(Codec->decode(Bytes(P.data(), P.size() - 1), To).ok());
  }
}

TEST_P(SerializerTest, DecodedTensorsAreAlignedIfThePayloadIs) {
  TensorStorage Tensors = mixed();
  Payload P = encode(Tensors);
  AlignedBuffer Aligned;
  ASSERT_TRUE(Aligned.reserve(P.size(), 0));
  std::copy(P.begin(), P.end(), Aligned.data());
  DecodedTensors To = decodedFor(specsOf(Tensors));
  ASSERT_TRUE(Codec->decode({Aligned.data(), P.size()}, To).ok());
  for (const TensorView &V : To.Views)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(V.Data.data()) % TensorAlignment, 0u)
        << V.Spec->name();
}

TEST_P(SerializerTest, WhatWasDecodedCanBeEncoded) {
  TensorStorage Tensors = mixed();
  Payload P = encode(Tensors);
  DecodedTensors To = decodedFor(specsOf(Tensors));
  ASSERT_TRUE(Codec->decode(P, To).ok());
  Message Again;
  ASSERT_TRUE(Codec->encode(To.Views, Again).ok());
  EXPECT_EQ(flatten(Again), P);
}

TEST_P(SerializerTest, EveryTruncationFails) {
  TensorStorage Tensors = mixed();
  Payload P = encode(Tensors);
  for (size_t Size = 0; Size < P.size(); ++Size)
    EXPECT_FALSE(decode({P.begin(), P.begin() + long(Size)}, specsOf(Tensors)))
        << Size << " of " << P.size();
}

TEST_P(SerializerTest, MoreThanAMessageFails) {
  TensorStorage Tensors = mixed();
  Payload P = encode(Tensors);
  for (size_t Extra : {1, 8, 64}) {
    Payload Longer = P;
    Longer.resize(P.size() + Extra, 'x');
    EXPECT_FALSE(decode(Longer, specsOf(Tensors))) << Extra;
  }
}

TEST_P(SerializerTest, FlippedBitsFailOrDecodeToSomethingConsistent) {
  TensorStorage Tensors = mixed();
  Payload P = encode(Tensors);
  DecodedTensors To = decodedFor(specsOf(Tensors));
  size_t Noticed = 0;
  for (size_t Bit = 0; Bit < P.size() * 8; ++Bit) {
    P[Bit / 8] ^= static_cast<unsigned char>(1 << Bit % 8);
    if (Status S = decode(P, To); !S) { // which checks consistency
      ++Noticed;
      EXPECT_NE(S.message(), "");
    }
    P[Bit / 8] ^= static_cast<unsigned char>(1 << Bit % 8);
  }
  EXPECT_GT(Noticed, 0u);
  ASSERT_TRUE(decode(P, To).ok());
}

TEST_P(SerializerTest, NoiseFails) {
  std::mt19937_64 Random(6);
  SpecList Specs = specsOf(mixed());
  for (int Round = 0; Round < 500; ++Round) {
    Payload P(Random() % 600);
    for (unsigned char &Byte : P)
      Byte = static_cast<unsigned char>(Random());
    EXPECT_FALSE(decode(P, Specs));
  }
}

TEST_P(SerializerTest, MessagesForAnotherSignatureFail) {
  TensorSpec X = TensorSpec::create<float>("x", {2});
  TensorSpec Rows = TensorSpec::create<float>("rows", {Dynamic, 300});
  TensorStorage Tensors({X, Rows});
  ASSERT_TRUE(Tensors.resize(1, {1, 300}).ok());
  Payload P = encode(Tensors);
  ASSERT_TRUE(decode(P, SpecList{X, Rows}).ok());
  const SpecList Others[] = {
      {X, Rows, TensorSpec::create<float>("more")},
      {TensorSpec::create<float>("x", {100}), Rows},
      {X, TensorSpec::create<float>("rows", {Dynamic, 299})},
      {X, TensorSpec::create<double>("rows", {Dynamic, 300})},
      {X, TensorSpec::create<float>("rows", {2, 300})},
      {X, TensorSpec::create<float>("rows", {Dynamic, 300, 1})},
      {X, TensorSpec::create<std::string>("rows", {Dynamic, 300})},
  };
  for (const SpecList &Other : Others)
    EXPECT_FALSE(decode(P, Other))
        << Other[0].typeAndShape() << " " << Other[1].typeAndShape();
}

/// Short messages for `float x[?,?]` and `string s[?]` that promise much. A
/// new serializer adds its own.
static std::vector<Payload> hugeClaims(const std::string &Serializer,
                                       cbridge::Serializer &Codec) {
  // Words: the extents of x, the extent of s, the size of s.
  const uint64_t Big = uint64_t(1) << 40;
  if (Serializer == "bitstream")
    return {
        bytesOf({Big, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
        bytesOf({Big, Big, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
        bytesOf({Max<int64_t>, Max<int64_t>, 0, 8, 0, 0, 0, 0}),
        bytesOf({~uint64_t(0), 1, 0, 8, 0, 0, 0, 0}),
        bytesOf({0, 0, Big, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
        bytesOf({0, 0, 7, ~uint64_t(0), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
        bytesOf({0, 0, ~uint64_t(0), 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
        bytesOf({0, 0, Max<int64_t>, Max<int64_t>, 0, 0, 0, 0}),
    };
  if (Serializer == "json") {
    std::string S = R"("s":{"shape":[0],"values":[]}})";
    std::string X = R"(,"x":{"shape":[0,0],"values":[]}})";
    return {
        bytesOf(R"({"x":{"shape":[1099511627776,1],"values":[]},)" + S),
        bytesOf(R"({"x":{"shape":[4611686018427387904,4],"values":[]},)" + S),
        bytesOf(R"({"x":{"shape":[-1,0],"values":[]},)" + S),
        bytesOf(R"({"s":{"shape":[1099511627776],"values":["a"]})" + X),
        bytesOf(R"({"s":{"shape":[9223372036854775807],"values":["a"]})" + X),
        bytesOf(R"({"s":{"shape":[-1],"values":["a"]})" + X),
    };
  }
  if (Serializer == "flatbuffers") {
    // A message whose extents are easily found, and then larger.
    TensorStorage T({TensorSpec::create<float>("x", {Dynamic, Dynamic}),
                     TensorSpec::create<std::string>("s", {Dynamic})});
    EXPECT_TRUE(T.resize(0, {71, 73}).ok());
    EXPECT_TRUE(T.setStrings(1, {"one", "two", "three"}, {3}).ok());
    Message Small;
    EXPECT_TRUE(Codec.encode(T.views(), Small).ok());
    std::vector<Payload> Claims;
    for (uint64_t Extent : {71, 73, 3})
      for (uint64_t Huge : {Big, uint64_t(Max<int64_t>), ~uint64_t(0)}) {
        Payload P = flatten(Small), Old = bytesOf(std::vector{Extent}),
                New = bytesOf(std::vector{Huge});
        auto At = std::search(P.begin(), P.end(), Old.begin(), Old.end());
        EXPECT_NE(At, P.end());
        std::copy(New.begin(), New.end(), At);
        Claims.push_back(P);
      }
    return Claims;
  }
  if (Serializer == "protobuf") {
    // Of one tensor: its name, its type, its shape, a string if it has them.
    auto Tensor = [](char Name, char Type, const std::vector<uint64_t> &Shape) {
      std::string Extents;
      for (uint64_t Left : Shape) {
        for (; Left >= 0x80; Left >>= 7)
          Extents += char(Left | 0x80);
        Extents += char(Left);
      }
      std::string All = {'\x0a', 1, Name, '\x10', Type, '\x1a'};
      All += char(Extents.size()) + Extents + (Name == 's' ? "\x32\x01q" : "");
      return std::string{'\x0a', char(All.size())} + All;
    };
    std::string X = Tensor('x', 10, {0, 0}), S = Tensor('s', 12, {1});
    DecodedTensors To(std::make_shared<SpecList>(
        SpecList{TensorSpec::create<float>("x", {Dynamic, Dynamic}),
                 TensorSpec::create<std::string>("s", {Dynamic})}));
    EXPECT_TRUE(Codec.decode(bytesOf(X + S), To).ok());
    return {bytesOf(Tensor('x', 10, {Big, 1}) + S),
            bytesOf(Tensor('x', 10, {Big, Big}) + S),
            bytesOf(Tensor('x', 10, {~uint64_t(0), 1}) + S),
            bytesOf(X + Tensor('s', 12, {Big})),
            bytesOf(X + Tensor('s', 12, {uint64_t(Max<int64_t>)})),
            bytesOf(X + Tensor('s', 12, {~uint64_t(0)})),
            bytesOf(X + "\x0a\xff\xff\xff\xff\xff\xff\xff\x7f" + S),
            bytesOf(X + "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x01")};
  }
  return {};
}

TEST_P(SerializerTest, HugeClaimsFailWithoutHugeMemory) {
  SpecList Specs = {TensorSpec::create<float>("x", {Dynamic, Dynamic}),
                    TensorSpec::create<std::string>("s", {Dynamic})};
  ASSERT_FALSE(hugeClaims(GetParam(), *Codec).empty())
      << "write some for this one";
  for (const Payload &P : hugeClaims(GetParam(), *Codec)) {
    DecodedTensors To = decodedFor(Specs);
    EXPECT_FALSE(decode(P, To));
    EXPECT_LE(To.Backing.capacity(), size_t(1) << 16);
  }
}

static std::vector<std::string> allNames() {
  std::vector<std::string> Names(serializerNames().begin(),
                                 serializerNames().end());
  Names.emplace_back("flatbuffers"); // of examples/own-serializer
#ifdef CBRIDGE_HAS_GRPC
  Names.emplace_back("protobuf"); // of src/modules/grpc
#endif
  return Names;
}

INSTANTIATE_TEST_SUITE_P(All, SerializerTest, testing::ValuesIn(allNames()),
                         [](const auto &Info) { return Info.param; });
