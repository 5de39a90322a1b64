//===- StreamChannelTest.cpp - Tests of StreamChannel
//-----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/StreamChannel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

using namespace cbridge;
using std::chrono::milliseconds;

namespace {

/// A channel that reads from one pipe and writes to another, and the test's
/// ends of both.
class Piped : public StreamChannel {
public:
  Piped() : StreamChannel("the other", size_t(1) << 30) {
    EXPECT_EQ(::pipe2(In, O_NONBLOCK | O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(Out, O_NONBLOCK | O_CLOEXEC), 0);
    use({In[0], Out[1]});
  }
  ~Piped() override {
    for (int Each : {In[0], In[1], Out[0], Out[1]})
      ::close(Each);
  }
  int writeEnd() const { return In[1]; }
  int readEnd() const { return Out[0]; }

private:
  int In[2], Out[2];
};

FrameHeader request(uint64_t Length) {
  FrameHeader H;
  H.Kind = FrameKind::Request;
  H.Length = Length;
  return H;
}

/// Does something to the other end, again and again, in the background.
class Meanwhile {
public:
  template <typename Callable>
  explicit Meanwhile(Callable Do)
      : Thread([this, Do] {
          while (!Stop)
            Do();
        }) {}
  ~Meanwhile() {
    Stop = true;
    Thread.join();
  }

private:
  std::atomic<bool> Stop{false};
  std::thread Thread;
};

} // namespace

TEST(StreamChannel, AReceiveEndsInTimeWhileDataFlows) {
  Piped Channel;
  unsigned char Header[FrameHeader::Size];
  request(size_t(1) << 30).encode(Header);
  ASSERT_EQ(::write(Channel.writeEnd(), Header, sizeof(Header)), 64);
  Meanwhile Flow([&] {
    unsigned char Some[4096] = {};
    if (::write(Channel.writeEnd(), Some, sizeof(Some)) < 0)
      std::this_thread::yield();
  });
  auto Begin = std::chrono::steady_clock::now();
  Expected<Frame> F = Channel.receive(Deadline::in(milliseconds(50)));
  ASSERT_FALSE(F);
  EXPECT_EQ(F.status().code(), StatusCode::Timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - Begin, milliseconds(500));
}

TEST(StreamChannel, ASendEndsInTimeWhileTheOtherReadsSlowly) {
  Piped Channel;
  Message Large;
  ASSERT_TRUE(Large.room(size_t(256) << 20));
  Large.wrote(size_t(256) << 20);
  Meanwhile Flow([&] {
    unsigned char Some[64];
    if (::read(Channel.readEnd(), Some, sizeof(Some)) < 0)
      std::this_thread::yield();
  });
  auto Begin = std::chrono::steady_clock::now();
  Status S = Channel.send(request(0), Large, Deadline::in(milliseconds(50)));
  EXPECT_EQ(S.code(), StatusCode::Timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - Begin, milliseconds(500));
}

TEST(StreamChannel, AReceiveThatTimedOutGoesOn) {
  Piped Channel;
  unsigned char Bytes[FrameHeader::Size + 64] = {};
  unsigned char Header[FrameHeader::Size];
  request(64).encode(Header);
  std::copy(std::begin(Header), std::end(Header), Bytes);
  Bytes[FrameHeader::Size] = 7;
  ASSERT_EQ(::write(Channel.writeEnd(), Bytes, 100), 100);
  EXPECT_EQ(Channel.receive(Deadline::in(milliseconds(1))).status().code(),
            StatusCode::Timeout);
  ASSERT_EQ(::write(Channel.writeEnd(), Bytes + 100, 28), 28);
  Expected<Frame> F = Channel.receive(Deadline::in(milliseconds(1000)));
  ASSERT_TRUE(F) << F.status().toString();
  EXPECT_EQ(F->Payload.size(), 64u);
  EXPECT_EQ(F->Payload[0], 7);
}

TEST(StreamChannel, AKeptPayloadStaysWhileOthersCome) {
  Piped Channel;
  auto Send = [&](unsigned char Value) {
    unsigned char Bytes[FrameHeader::Size + 64] = {};
    unsigned char Header[FrameHeader::Size];
    request(64).encode(Header);
    std::copy(std::begin(Header), std::end(Header), Bytes);
    Bytes[FrameHeader::Size] = Value;
    ASSERT_EQ(::write(Channel.writeEnd(), Bytes, sizeof(Bytes)), 128);
  };
  std::vector<std::shared_ptr<const void>> Kept;
  std::vector<Bytes> Payloads;
  for (unsigned char I = 0; I < 10; ++I) {
    Send(I);
    Send(I); // read together with the first, and moved
    for (int Twice = 0; Twice < 2; ++Twice) {
      Expected<Frame> F = Channel.receive(Deadline::in(milliseconds(1000)));
      ASSERT_TRUE(F) << F.status().toString();
      Payloads.push_back(F->Payload);
      Kept.push_back(Channel.keepPayload());
    }
  }
  for (size_t I = 0; I < Payloads.size(); ++I)
    EXPECT_EQ(Payloads[I][0], I / 2);
}
