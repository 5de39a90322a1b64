//===- GoldenTest.cpp - The bytes of the formats stay as they are ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares what is written today with tests/golden, and reads those files back.
// cases.json there describes the same values for other languages. After a
// change of format that is meant, run with CBRIDGE_UPDATE_GOLDEN=1.
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"

#include "channel/Frame.h"
#include "channel/Handshake.h"
#include "channel/shm/ShmSegment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>

using namespace cbridge;

namespace {

using Content = std::vector<unsigned char>;

/// The content of a golden file, which is Written first if that is wanted.
Content golden(const std::string &Name, const Content &Written) {
  std::string Path = std::string(CBRIDGE_TESTS_DIR) + "/golden/" + Name;
  if (std::getenv("CBRIDGE_UPDATE_GOLDEN"))
    std::ofstream(Path, std::ios::binary)
        .write(reinterpret_cast<const char *>(Written.data()),
               std::streamsize(Written.size()));
  std::ifstream In(Path, std::ios::binary);
  EXPECT_TRUE(In) << Path << " cannot be read";
  return {std::istreambuf_iterator<char>(In), {}};
}

TensorStorage fixedTensors() {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  using I64 = std::numeric_limits<int64_t>;
  TensorStorage T({TensorSpec::create<bool>("bools", {3}),
                   TensorSpec::create<int8_t>("i8", {2}),
                   TensorSpec::create<int16_t>("i16", {2}),
                   TensorSpec::create<int32_t>("i32", {2}),
                   TensorSpec::create<int64_t>("i64", {3}),
                   TensorSpec::create<uint8_t>("u8", {2, 2}),
                   TensorSpec::create<uint16_t>("u16"),
                   TensorSpec::create<uint32_t>("u32"),
                   TensorSpec::create<uint64_t>("u64", {2}),
                   TensorSpec::create<float>("f32", {7}),
                   TensorSpec::create<double>("f64", {7}),
                   TensorSpec::create<float>("scalar", {}),
                   TensorSpec::create<int32_t>("empty", {0})});
  Status All[] = {
      fill<bool>(T, 0, {3}, std::array{true, false, true}),
      fill<int8_t>(T, 1, {2}, {-128, 127}),
      fill<int16_t>(T, 2, {2}, {-32768, 32767}),
      fill<int32_t>(T, 3, {2}, {std::numeric_limits<int32_t>::min(), 7}),
      fill<int64_t>(T, 4, {3}, {I64::min(), -1, I64::max()}),
      fill<uint8_t>(T, 5, {2, 2}, {0, 1, 128, 255}),
      fill<uint16_t>(T, 6, {1}, {65535}),
      fill<uint32_t>(T, 7, {1}, {4294967295U}),
      fill<uint64_t>(T, 8, {2}, {0, ~uint64_t(0)}),
      fill<float>(T, 9, {7},
                  {0.1f, -0.0f, F::denorm_min(), F::max(), F::quiet_NaN(),
                   F::infinity(), -F::infinity()}),
      fill<double>(T, 10, {7},
                   {0.1, -0.0, D::denorm_min(), D::max(), D::quiet_NaN(),
                    D::infinity(), -D::infinity()}),
      fill<float>(T, 11, {}, {2.5f}),
  };
  for (const Status &S : All)
    EXPECT_TRUE(S.ok()) << S.toString();
  return T;
}

TensorStorage dynamicTensors() {
  TensorStorage T({TensorSpec::create<int64_t>("vector", {Dynamic}),
                   TensorSpec::create<float>("rows", {Dynamic, 3}),
                   TensorSpec::create<double>("grid", {Dynamic, Dynamic}),
                   TensorSpec::create<uint8_t>("nothing", {Dynamic}),
                   TensorSpec::create<int64_t>("fixed"),
                   TensorSpec::create<std::string>("text"),
                   TensorSpec::create<std::string>("texts", {Dynamic})});
  std::string_view Texts[] = {"",
                              "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                              {"a\0b", 3},
                              "\"\\\n\t\x01\x7f",
                              "end"};
  Status All[] = {
      fill<int64_t>(T, 0, {3}, {1, -2, 3}),
      fill<float>(T, 1, {2, 3}, {1, 2, 3, 0.5f, -0.25f, 1e10f}),
      fill<double>(T, 2, {1, 2}, {1e-300, 12345.678}),
      fill<uint8_t>(T, 3, {0}, {}),
      fill<int64_t>(T, 4, {1}, {7}),
      T.setStrings(5, {std::string_view("hello")}, {1}),
      T.setStrings(6, Texts, {5}),
  };
  for (const Status &S : All)
    EXPECT_TRUE(S.ok()) << S.toString();
  return T;
}

void checkMessage(const char *Serdes, const std::string &Name,
                  const TensorStorage &Tensors) {
  std::unique_ptr<Serializer> Codec = *makeSerializer(Serdes);
  Message Encoded;
  ASSERT_TRUE(Codec->encode(Tensors.views(), Encoded).ok());
  Content Written = flatten(Encoded);
  Content File = golden(Name, Written);
  EXPECT_EQ(Written, File);

  auto Specs = std::make_shared<std::vector<TensorSpec>>();
  for (const TensorView &V : Tensors.views())
    Specs->push_back(*V.Spec);
  DecodedTensors Read(Specs);
  Status S = Codec->decode(File, Read);
  ASSERT_TRUE(S.ok()) << S.toString();
  EXPECT_EQ(difference(Tensors.views(), Read.Views), "");
}

} // namespace

TEST(GoldenTest, FrameHeader) {
  FrameHeader H;
  H.Kind = FrameKind::Request;
  H.Flags = FrameHeader::HasReward | FrameHeader::EndsSession;
  H.Runner = 0x01020304;
  H.Session = 0x1112131415161718;
  H.Sequence = 0x2122232425262728;
  H.Length = 0x3132333435363738;
  H.Reward = -1.25;
  unsigned char Written[FrameHeader::Size];
  H.encode(Written);
  Content File = golden("frame_header.bin",
                        Content(std::begin(Written), std::end(Written)));
  EXPECT_EQ(Content(std::begin(Written), std::end(Written)), File);

  ASSERT_EQ(File.size(), FrameHeader::Size);
  Expected<FrameHeader> Read = FrameHeader::decode(File.data());
  ASSERT_TRUE(Read) << Read.status().toString();
  EXPECT_EQ(Read->Kind, H.Kind);
  EXPECT_EQ(Read->Flags, H.Flags);
  EXPECT_EQ(Read->Runner, H.Runner);
  EXPECT_EQ(Read->Session, H.Session);
  EXPECT_EQ(Read->Sequence, H.Sequence);
  EXPECT_EQ(Read->Length, H.Length);
  EXPECT_EQ(Read->Reward, H.Reward);
}

TEST(GoldenTest, ShmSlot) {
  // Frame 9 of a session, in slot 1: eight own bytes and two pieces, of which
  // the second lies 8 KiB behind the first.
  auto Specs = std::vector{TensorSpec::create<uint8_t>("a", {Dynamic}),
                           TensorSpec::create<uint8_t>("b", {Dynamic})};
  auto Segment = shm::OwnSegment::create(Specs, 8192, nullptr);
  ASSERT_TRUE(Segment) << Segment.status().toString();
  Expected<os::Region> First = (*Segment)->reserve(8192),
                       Second = (*Segment)->reserve(4096);
  ASSERT_TRUE(First && Second && First->grow(8192, 8192).ok() &&
              Second->grow(4096, 4096).ok());
  Message Payload;
  std::memcpy(Payload.room(8), "in slot.", 8);
  Payload.wrote(8);
  Payload.lend({First->data(), 1024});
  Payload.lend({Second->data(), 64});
  FrameHeader H;
  H.Kind = FrameKind::Request;
  H.Runner = 2;
  H.Session = 0x1112131415161718;
  H.Sequence = 5;
  H.Length = Payload.size();
  ASSERT_TRUE((*Segment)->publish(9, H, Payload).ok());
  // Without the memory behind the two pieces, all of which is zero.
  const unsigned char *Slot = (*Segment)->slots() + 4096;
  Content Written(Slot, Slot + 4096);
  Content File = golden("shm_slot.bin", Written);
  EXPECT_EQ(Written, File);
}

TEST(GoldenTest, Hello) {
  Hello H;
  H.Serdes = "bitstream";
  H.Sig = Signature({TensorSpec::create<int64_t>("callee_users"),
                     TensorSpec::create<float>("embedding", {Dynamic, 300}),
                     TensorSpec::create<std::string>("a \"name\"\n", {}),
                     TensorSpec::create<uint8_t>("\xc3\xa9", {2, 0, 4})},
                    std::vector{TensorSpec::create<bool>("inline"),
                                TensorSpec::create<double>("why", {Dynamic})});
  std::string Text = H.encode();
  Content Written(Text.begin(), Text.end());
  Content File = golden("hello.bin", Written);
  EXPECT_EQ(Text, std::string(File.begin(), File.end()));

  Expected<Hello> Read = Hello::decode(File);
  ASSERT_TRUE(Read) << Read.status().toString();
  EXPECT_EQ(Read->Serdes, H.Serdes);
  EXPECT_EQ(Read->Sig, H.Sig);
}

TEST(GoldenTest, BitstreamFixed) {
  checkMessage("bitstream", "bitstream_fixed.bin", fixedTensors());
}

TEST(GoldenTest, BitstreamDynamic) {
  checkMessage("bitstream", "bitstream_dynamic.bin", dynamicTensors());
}

TEST(GoldenTest, JsonFixed) {
  checkMessage("json", "json_fixed.bin", fixedTensors());
}

TEST(GoldenTest, JsonDynamic) {
  checkMessage("json", "json_dynamic.bin", dynamicTensors());
}

#ifdef CBRIDGE_HAS_GRPC
TEST(GoldenTest, ProtobufFixed) {
  checkMessage("protobuf", "protobuf_fixed.bin", fixedTensors());
}

TEST(GoldenTest, ProtobufDynamic) {
  checkMessage("protobuf", "protobuf_dynamic.bin", dynamicTensors());
}
#endif
