//===- FrameMessageTest.cpp - Frames and generated classes ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/FrameMessage.h"

#include "channel/Handshake.h"

#include <compiler_bridge.pb.h>
#include <gtest/gtest.h>

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
