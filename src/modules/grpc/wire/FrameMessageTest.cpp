//===- FrameMessageTest.cpp - Frames and generated classes ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/wire/FrameMessage.h"

#include "channel/Handshake.h"
#include "modules/grpc/wire/ProtobufSerializer.h"

#include <compiler_bridge.pb.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace cbridge;
namespace pb = compiler_bridge::v1;

static Bytes asBytes(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

static std::string encode(FrameMessage &As, FrameHeader H,
                          const std::string &Payload) {
  H.Length = Payload.size();
  unsigned char To[FrameMessage::MaxHeader];
  size_t Size = As.encode(H, asBytes(Payload), To);
  std::string All = std::string(reinterpret_cast<char *>(To), Size) + Payload;
  if (!Payload.empty()) {
    EXPECT_EQ(FrameMessage::payloadOffset(asBytes(All)), Size);
    EXPECT_EQ(FrameMessage::payloadOffset(asBytes(All).subspan(0, Size)), Size);
  }
  EXPECT_EQ(FrameMessage::kindOf(asBytes(All)), H.Kind);
  return All;
}

static std::string hello(const char *Serdes) {
  return Hello{Serdes, Signature({TensorSpec::create<float>("x")},
                                 TensorSpec::create<float>("y"))}
      .encode();
}

TEST(FrameMessageTest, GeneratedClassesReadWhatWeWrite) {
  FrameMessage Format;
  FrameHeader H;
  H.Session = 0x8182838485868788;
  pb::Observation Read;
  ASSERT_TRUE(Read.ParseFromString(encode(Format, H, hello("protobuf"))));
  EXPECT_EQ(Read.kind(), pb::HELLO);
  EXPECT_EQ(Read.text(), hello("protobuf"));
  EXPECT_EQ(Read.session(), H.Session);

  H.Kind = FrameKind::Request;
  H.Sequence = ~uint64_t(0);
  H.Runner = ~uint32_t(0);
  H.Flags =
      FrameHeader::HasReward | FrameHeader::CutShort | FrameHeader::EndsSession;
  H.Reward = -0.5;
  pb::Tensors Tensors;
  Tensors.add_tensor()->set_name("x");
  std::string All = encode(Format, H, Tensors.SerializeAsString());
  EXPECT_LT(All.size(), FrameMessage::MaxHeader);
  ASSERT_TRUE(Read.ParseFromString(All));
  EXPECT_EQ(Read.kind(), pb::REQUEST);
  EXPECT_EQ(Read.sequence(), H.Sequence);
  EXPECT_EQ(Read.runner(), H.Runner);
  EXPECT_EQ(Read.reward(), -0.5);
  EXPECT_TRUE(Read.truncated() && Read.ends_session());
  EXPECT_EQ(Read.tensors().tensor(0).name(), "x");
}

TEST(FrameMessageTest, WeReadWhatGeneratedClassesWrite) {
  FrameMessage Format;
  pb::Advice Sent;
  Sent.set_kind(pb::HELLO);
  Sent.set_text(hello("json"));
  std::string All = Sent.SerializeAsString();
  ASSERT_TRUE(Format.decode(asBytes(All)));
  Sent.Clear();
  Sent.set_kind(pb::REPLY);
  Sent.set_session(7);
  Sent.set_sequence(300);
  Sent.set_reward(2);
  Sent.set_json("{}");
  All = Sent.SerializeAsString();
  Expected<Frame> F = Format.decode(asBytes(All));
  ASSERT_TRUE(F) << F.status().toString();
  EXPECT_EQ(F->Header.Kind, FrameKind::Reply);
  EXPECT_EQ(F->Header.Session, 7u);
  EXPECT_EQ(F->Header.Sequence, 300u);
  EXPECT_EQ(F->Header.Flags, FrameHeader::HasReward);
  EXPECT_EQ(asText(F->Payload), "{}");
  EXPECT_EQ(F->Header.Length, 2u);

  // Of another serializer than the session's, of no kind, truncated.
  Sent.set_bitstream("{}");
  EXPECT_FALSE(Format.decode(asBytes(All = Sent.SerializeAsString())));
  Sent.set_json("{}");
  Sent.clear_kind();
  EXPECT_FALSE(Format.decode(asBytes(All = Sent.SerializeAsString())));
  Sent.set_kind(pb::REPLY);
  All = Sent.SerializeAsString();
  for (size_t Size = 0; Size < All.size(); ++Size)
    EXPECT_FALSE(Format.decode(asBytes(All).subspan(0, Size))) << Size;
}

/// What tests/golden has; written first if CBRIDGE_UPDATE_GOLDEN is set.
static std::string golden(const std::string &Name, const std::string &Written) {
  std::string Path = std::string(CBRIDGE_TESTS_DIR) + "/golden/" + Name;
  if (std::getenv("CBRIDGE_UPDATE_GOLDEN"))
    std::ofstream(Path, std::ios::binary) << Written;
  std::ostringstream Text;
  Text << std::ifstream(Path, std::ios::binary).rdbuf();
  return Text.str();
}

static std::string tensors(const TensorStorage &Of) {
  ProtobufSerializer Codec;
  Message To;
  EXPECT_TRUE(Codec.encode(Of.views(), To).ok());
  EXPECT_TRUE(To.lent().empty());
  return std::string(asText(To.own()));
}

/// A header as both golden messages have it, of a session that uses protobuf.
static FrameHeader goldenHeader(FrameKind Kind, FrameMessage &As) {
  (void)encode(As, FrameHeader(), hello("protobuf"));
  FrameHeader H;
  H.Kind = Kind;
  H.Session = 0x1112131415161718;
  H.Sequence = 300;
  H.Runner = 0x01020304;
  return H;
}

template <typename Generated>
static void expectGolden(const std::string &Written, const std::string &File,
                         Generated &Read) {
  EXPECT_EQ(Written, File);
  ASSERT_TRUE(Read.ParseFromString(File));
  EXPECT_EQ(Read.SerializeAsString(), File);
  EXPECT_EQ(Read.session(), 0x1112131415161718U);
  EXPECT_EQ(Read.sequence(), 300U);
  EXPECT_EQ(Read.runner(), 0x01020304U);
}

TEST(FrameMessageTest, GoldenObservation) {
  TensorStorage T({TensorSpec::create<int64_t>("x", {2}),
                   TensorSpec::create<std::string>("why")});
  int64_t X[] = {1, -2};
  std::memcpy(T.bytes(0).data(), X, sizeof(X));
  ASSERT_TRUE(T.setStrings(1, {std::string_view("so")}, {1}).ok());
  FrameMessage Format;
  FrameHeader H = goldenHeader(FrameKind::Request, Format);
  H.Flags = FrameHeader::HasReward;
  H.Reward = -1.25;
  std::string Written = encode(Format, H, tensors(T)) +
                        FrameMessage::encodeContext("f(\xc3\xa9)");
  std::string File = golden("grpc_observation.bin", Written);
  pb::Observation Read;
  expectGolden(Written, File, Read);
  EXPECT_EQ(Read.kind(), pb::REQUEST);
  EXPECT_EQ(Read.reward(), -1.25);
  EXPECT_EQ(Read.context(), "f(\xc3\xa9)");
  EXPECT_EQ(Read.tensors().tensor(1).strings(0), "so");

  // Only getAdvice has a context.
  EXPECT_FALSE(Format.decode(asBytes(File)));
  FrameMessage::Unary By;
  Expected<Frame> F = Format.decode(asBytes(File), &By);
  ASSERT_TRUE(F) << F.status().toString();
  EXPECT_EQ(F->Header.Runner, 0x01020304U);
  EXPECT_EQ(F->Header.Reward, -1.25);
  EXPECT_EQ(By.Context, "f(\xc3\xa9)");
  EXPECT_EQ(asText(F->Payload), tensors(T));
}

TEST(FrameMessageTest, GoldenAdvice) {
  TensorStorage T({TensorSpec::create<int64_t>("y")});
  int64_t Y = 7;
  std::memcpy(T.bytes(0).data(), &Y, sizeof(Y));
  FrameMessage Format;
  FrameHeader H = goldenHeader(FrameKind::Reply, Format);
  std::string Written = encode(Format, H, tensors(T));
  std::string File = golden("grpc_advice.bin", Written);
  pb::Advice Read;
  expectGolden(Written, File, Read);
  EXPECT_EQ(Read.kind(), pb::REPLY);
  EXPECT_FALSE(Read.has_reward());
  Expected<Frame> F = Format.decode(asBytes(File));
  ASSERT_TRUE(F) << F.status().toString();
  EXPECT_EQ(asText(F->Payload), tensors(T));
}

TEST(FrameMessageTest, AnAdviceNeedsNoMoreThanTensors) {
  FrameMessage Format;
  (void)encode(Format, FrameHeader(), hello("protobuf"));
  pb::Advice Sent;
  Sent.mutable_tensors()->add_tensor()->set_name("y");
  std::string All = Sent.SerializeAsString();
  EXPECT_FALSE(Format.decode(asBytes(All)));
  FrameMessage::Unary By;
  By.Unsaid = FrameKind::Reply;
  Expected<Frame> F = Format.decode(asBytes(All), &By);
  ASSERT_TRUE(F) << F.status().toString();
  EXPECT_EQ(F->Header.Kind, FrameKind::Reply);
  EXPECT_EQ(F->Header.Session, 0U);
  EXPECT_EQ(FrameMessage::sessionOf(asBytes(All)), 0U);
}
