//===- ProtobufSerializerTest.cpp - Our bytes and generated classes -------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/wire/ProtobufSerializer.h"

#include "core/Wire.h"

#include <compiler_bridge.pb.h>
#include <gtest/gtest.h>

#include <random>

using namespace cbridge;
namespace pb = compiler_bridge::v1;

namespace {

std::string encode(const TensorStorage &Tensors) {
  ProtobufSerializer Codec;
  Message M;
  Status S = Codec.encode(Tensors.views(), M);
  EXPECT_TRUE(S.ok()) << S.toString();
  std::string All(M.own().begin(), M.own().end());
  for (Bytes Piece : M.lent())
    All.append(Piece.begin(), Piece.end());
  EXPECT_EQ(All.size(), M.size());
  return All;
}

DecodedTensors::SpecList specsOf(const TensorStorage &Tensors) {
  auto Specs = std::make_shared<std::vector<TensorSpec>>();
  for (const TensorView &V : Tensors.views())
    Specs->push_back(*V.Spec);
  return Specs;
}

/// Decodes from memory as a channel's is.
Status decode(const std::string &Payload, DecodedTensors &To,
              AlignedBuffer &Held) {
  EXPECT_TRUE(Held.reserve(Payload.size() + 1, 0));
  std::memcpy(Held.data(), Payload.data(), Payload.size());
  return ProtobufSerializer().decode({Held.data(), Payload.size()}, To);
}

/// Count floats and some more of everything.
TensorStorage sample(int64_t Count) {
  TensorStorage T({TensorSpec::create<float>("embedding", {Dynamic}),
                   TensorSpec::create<int64_t>("count"),
                   TensorSpec::create<std::string>("names", {Dynamic}),
                   TensorSpec::create<bool>("flags", {2, 1}),
                   TensorSpec::create<double>("scalar", {}),
                   TensorSpec::create<int64_t>("table", {300, 2})});
  std::mt19937 Random(unsigned(Count) + 1);
  EXPECT_TRUE(T.resize(0, {Count}).ok());
  for (size_t I : {0, 1, 4, 5})
    for (unsigned char &Byte : T.bytes(I))
      Byte = static_cast<unsigned char>(Random());
  T.bytes(3)[1] = 1;
  EXPECT_TRUE(T.setStrings(2, {"main", "", "\xff"}, {3}).ok());
  return T;
}

void expectSame(const TensorView &V, const pb::Tensor &T) {
  EXPECT_EQ(T.name(), V.Spec->name());
  EXPECT_EQ(int(T.type()), int(V.Spec->type()) + 1);
  EXPECT_EQ(std::vector<int64_t>(T.shape().begin(), T.shape().end()),
            std::vector<int64_t>(V.Extents.begin(), V.Extents.end()));
  if (V.Spec->isString()) {
    ASSERT_EQ(size_t(T.strings_size()), V.elementCount());
    for (int I = 0; I < T.strings_size(); ++I)
      EXPECT_EQ(T.strings(I), V.string(size_t(I)));
    return;
  }
  EXPECT_EQ(T.data(), std::string(V.Data.begin(), V.Data.end()));
}

/// The same message as generated classes write it.
std::string theirs(Span<const TensorView> Views, bool Names) {
  pb::Tensors All;
  for (const TensorView &V : Views) {
    pb::Tensor &T = *All.add_tensor();
    if (Names)
      T.set_name(V.Spec->name());
    T.set_type(pb::ElementType(int(V.Spec->type()) + 1));
    for (int64_t Extent : V.Extents)
      T.add_shape(Extent);
    if (!V.Spec->isString())
      T.set_data(V.Data.data(), V.Data.size());
    for (size_t I = 0; V.Spec->isString() && I < V.elementCount(); ++I)
      T.add_strings(std::string(V.string(I)));
  }
  return All.SerializeAsString();
}

void expectDecodes(const std::string &Payload, const TensorStorage &Wanted) {
  DecodedTensors To(specsOf(Wanted));
  AlignedBuffer Held;
  Status S = decode(Payload, To, Held);
  ASSERT_TRUE(S.ok()) << S.toString();
  std::vector<TensorView> Views(Wanted.views().begin(), Wanted.views().end());
  for (size_t I = 0; I < Views.size(); ++I) {
    EXPECT_EQ(To.Views[I].Spec, &(*To.Specs)[I]);
    ASSERT_EQ(To.Views[I].Data.size(), Views[I].Data.size());
    EXPECT_TRUE(std::equal(Views[I].Data.begin(), Views[I].Data.end(),
                           To.Views[I].Data.begin()))
        << Views[I].Spec->name();
  }
}

} // namespace

TEST(ProtobufSerializerTest, GeneratedClassesReadWhatWeWrite) {
  // Around where tensors begin to be lent and lengths become longer.
  for (int64_t Count :
       {0, 1, 15, 16, 31, 32, 33, 255, 256, 257, 500, 4050, 50000}) {
    TensorStorage T = sample(Count);
    pb::Tensors Read;
    ASSERT_TRUE(Read.ParseFromString(encode(T))) << Count;
    ASSERT_EQ(size_t(Read.tensor_size()), T.size());
    for (size_t I = 0; I < T.size(); ++I)
      expectSame(T.views()[I], Read.tensor(int(I)));
  }
}

TEST(ProtobufSerializerTest, WeReadWhatGeneratedClassesWrite) {
  for (int64_t Count : {0, 1, 256, 257, 50000}) {
    TensorStorage T = sample(Count);
    expectDecodes(theirs(T.views(), /*Names=*/true), T);
    expectDecodes(theirs(T.views(), /*Names=*/false), T);
  }
}

TEST(ProtobufSerializerTest, LargeTensorsLieAtMultiplesOf64) {
  // Every length around those where the length of a length changes.
  for (int64_t Count = 256; Count < 4200; ++Count) {
    TensorStorage T({TensorSpec::create<float>("a", {Dynamic}),
                     TensorSpec::create<float>("second", {Dynamic})});
    ASSERT_TRUE(T.resize(0, {Count}).ok());
    ASSERT_TRUE(T.resize(1, {256 + Count % 64}).ok());
    std::string Payload = encode(T);
    DecodedTensors To(specsOf(T));
    AlignedBuffer Held;
    ASSERT_TRUE(decode(Payload, To, Held).ok()) << Count;
    for (const TensorView &V : To.Views) {
      ASSERT_EQ(reinterpret_cast<uintptr_t>(V.Data.data()) % 64, 0u) << Count;
      // In place, not copied.
      ASSERT_GE(V.Data.data(), Held.data());
      ASSERT_LT(V.Data.data(), Held.data() + Payload.size());
    }
  }
}

TEST(ProtobufSerializerTest, TensorsAreFoundByName) {
  TensorStorage T = sample(3);
  std::vector<TensorView> Views(T.views().begin(), T.views().end());
  std::reverse(Views.begin(), Views.end());
  expectDecodes(theirs(Views, /*Names=*/true), T);

  DecodedTensors To(specsOf(T));
  AlignedBuffer Held;
  Views[0] = Views[1];
  EXPECT_EQ(decode(theirs(Views, true), To, Held).message(),
            "protobuf: 'scalar': is there twice");
  Views.erase(Views.begin());
  EXPECT_EQ(decode(theirs(Views, true), To, Held).message(),
            "protobuf: 'table': is missing");
  TensorStorage Other({TensorSpec::create<float>("other")});
  EXPECT_EQ(decode(theirs(Other.views(), true), To, Held).message(),
            "protobuf: there is no 'other' in the signature");
}

/// A `string` that is none would make others refuse the whole message.
TEST(ProtobufSerializerTest, NamesThatAreNotUtf8StayAtHome) {
  TensorStorage T({TensorSpec::create<int8_t>("\xff"),
                   TensorSpec::create<int8_t>("\xc3\xa9")});
  pb::Tensors Read;
  ASSERT_TRUE(Read.ParseFromString(encode(T)));
  EXPECT_EQ(Read.tensor(0).name(), "");
  EXPECT_EQ(Read.tensor(1).name(), "\xc3\xa9");
  expectDecodes(encode(T), T);
}

TEST(ProtobufSerializerTest, Utf8) {
  for (const char *Good : {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(wire::isUtf8(Good)) << Good;
  for (const char *Bad :
       {"\x80", "\xc1\xbf", "\xc2", "\xc2z", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"})
    EXPECT_FALSE(wire::isUtf8(Bad)) << Bad;
}

/// Protobuf allows extents that are not packed.
TEST(ProtobufSerializerTest, ExtentsThatAreNotPacked) {
  TensorStorage T({TensorSpec::create<int8_t>("x", {1, 2})});
  T.bytes(0)[1] = 7;
  expectDecodes(std::string("\x0a\x0d\x0a\x01x\x10\x02\x18\x01\x18\x02\x2a\x02"
                            "\x00\x07",
                            15),
                T);
}
