//===- BadCompilers.h - A peer and compilers that misbehave -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CONFORMANCE_BADCOMPILERS_H
#define CBRIDGE_CONFORMANCE_BADCOMPILERS_H

#include "ChannelFixture.h"

#include "channel/Handshake.h"
#include "serdes/Serializer.h"

#include <cstring>
#include <future>

namespace cbridge::conformance {

/// A peer that the test drives by hand, in its own thread, and one raw compiler
/// after the other.
class BadCompilers : public ChannelFixture {
public:
  using ChannelFixture::ChannelFixture;

  void SetUp() override {
    ChannelFixture::SetUp();
    PeerOptions Options;
    Options.OnSessionError = [this](const Status &Why) {
      Errors.push_back(Why);
    };
    Expected<Peer> Opened = Peer::open(Address, std::move(Options));
    ASSERT_TRUE(Opened) << Opened.status().toString();
    P.emplace(std::move(*Opened));
  }
  void TearDown() override {
    Compiler.reset();
    P.reset();
    ChannelFixture::TearDown();
  }

  /// Lets the peer take one step. It answers y = x + 1, unless it Holds back.
  void pump(milliseconds Wait = milliseconds(0)) {
    if (P->awaitsReply())
      return;
    auto R = P->next(Deadline::in(Wait));
    if (!R) {
      ASSERT_EQ(R.status().code(), StatusCode::Timeout)
          << R.status().toString();
      return;
    }
    Seen += (Seen.empty() ? "" : " ") +
            std::string((*R)->done() ? "done" : "") +
            ((*R)->truncated() ? "!" : "") + std::to_string(asked(**R));
    if (!Holds)
      increment(*P, **R);
  }
  template <typename Condition> void pumpUntil(Condition Reached) {
    for (Deadline Until = soon(); !Reached(); pump(milliseconds(1)))
      ASSERT_FALSE(Until.passed()) << "the peer does not get there";
  }

  void connect(Manners How = Manners::Polite) {
    pumpUntil([&] {
      Compiler = Channel.MakeCompiler(Address, How);
      return Compiler != nullptr;
    });
    Header = FrameHeader();
    Header.Session = ++LastSession; // the peer may not know yet who has left
    Header.Runner = 1;
  }
  void send(FrameKind Kind, std::string_view Payload) {
    Header.Kind = Kind;
    ASSERT_TRUE(Compiler->send(Header, Payload));
  }
  /// Sends more than fits into a pipe while the peer reads; false if it does
  /// not take it.
  bool sendLarge(const std::string &Data) {
    auto Sent =
        std::async(std::launch::async, [&] { return Compiler->send(Data); });
    pumpUntil(
        [&] { return Sent.wait_for(seconds(0)) == std::future_status::ready; });
    return Sent.get();
  }
  std::optional<RawFrame> answer() {
    std::optional<RawFrame> F;
    pumpUntil([&] {
      F = Compiler->receiveFrame(Deadline::in(seconds(0)));
      return F.has_value();
    });
    return F;
  }
  void greet() {
    connect();
    send(FrameKind::Hello, Hello{Serdes, oneNumber()}.encode());
    auto F = answer();
    ASSERT_TRUE(F);
    EXPECT_EQ(F->Header.Kind, FrameKind::Welcome);
  }
  std::string encodedX(int64_t X) {
    TensorStorage Features(oneNumber().inputs());
    std::memcpy(Features.bytes(0).data(), &X, sizeof(X));
    Message To;
    EXPECT_TRUE((*makeSerializer(Serdes))->encode(Features.views(), To).ok());
    std::string Payload(asText(To.own()));
    for (Bytes Piece : To.lent())
      Payload += asText(Piece);
    return Payload;
  }
  void request(int64_t X) {
    ++Header.Sequence;
    send(FrameKind::Request, encodedX(X));
  }
  /// One question and its answer.
  void exchange(int64_t X) {
    request(X);
    auto F = answer();
    ASSERT_TRUE(F);
    EXPECT_EQ(F->Header.Kind, FrameKind::Reply);
    EXPECT_EQ(F->Header.Sequence, Header.Sequence);
  }
  void hangUp() {
    if (Compiler && P->awaitsReply())
      Compiler->taken();
    Compiler.reset();
  }
  /// The peer notices all that happened so far.
  void settle(size_t ErrorsWanted) {
    pumpUntil([&] { return Errors.size() >= ErrorsWanted; });
    if (Channel.Settled)
      pumpUntil([&] { return Channel.Settled(); });
    for (int Step = 0; Step < 10; ++Step)
      pump();
  }
  /// The same peer serves a healthy compiler.
  void expectServes() {
    Seen.clear();
    auto Healthy = std::async(std::launch::async, [this] { expectServed(); });
    pumpUntil([&] {
      return Healthy.wait_for(seconds(0)) == std::future_status::ready;
    });
    Healthy.get();
    pumpUntil([&] { return Seen == "41 -1000 7 done7"; });
  }

  std::optional<Peer> P;
  std::unique_ptr<RawEnd> Compiler;
  FrameHeader Header;
  uint64_t LastSession = 4710;
  std::vector<Status> Errors;
  std::string Seen;
  bool Holds = false;
};

inline void sendHello(BadCompilers &T, const std::string &Payload) {
  T.connect();
  T.send(FrameKind::Hello, Payload);
}

inline std::string helloWith(const char *Features, const char *Decision) {
  return std::string("{\"serdes\":\"json\",\"features\":[") + Features +
         "],\"decision\":[" + Decision + "]}";
}

inline constexpr const char *X =
    "{\"name\":\"x\",\"type\":\"int64_t\",\"shape\":[1]}";

} // namespace cbridge::conformance

#endif // CBRIDGE_CONFORMANCE_BADCOMPILERS_H
