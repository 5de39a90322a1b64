//===- PeerFaultsTest.cpp - The peer against bad compilers ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BadCompilers.h"

#include "os/File.h"

#include <future>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

class PeerFaultsTest : public BadCompilers,
                       public ::testing::WithParamInterface<ChannelAndSerdes> {
protected:
  PeerFaultsTest()
      : BadCompilers(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
};
CBRIDGE_FOR_EVERY_CHANNEL(PeerFaultsTest);

std::string manySpecs(size_t Count) {
  std::string List;
  for (size_t I = 0; I < Count; ++I)
    List += (I ? ",{\"name\":\"" : "{\"name\":\"") + std::to_string(I) +
            "\",\"type\":\"string\",\"shape\":[1]}";
  return List;
}

TEST_P(PeerFaultsTest, AMillionTensors) {
  std::string Many = manySpecs(Sanitized ? 50'000 : 1'000'000);
  for (const std::string &Payload :
       {helloWith(Many.c_str(), X), helloWith(X, Many.c_str())}) {
    Errors.clear();
    connect();
    Header.Kind = FrameKind::Hello;
    EXPECT_TRUE(sendLarge(frameBytes(Header, Payload)));
    hangUp();
    settle(1);
    EXPECT_EQ(Errors[0].code(), StatusCode::Protocol);
    EXPECT_NE(Errors[0].message().find("more than 4096 tensors"),
              std::string::npos)
        << Errors[0].message();
    expectServes();
  }
}

TEST_P(PeerFaultsTest, AsManyTensorsAsAllowed) {
  // The welcome must fit into what the channel holds while nobody reads.
  std::string Many = manySpecs(Channel.WholeMessages ? 1024 : 4096);
  connect();
  Header.Kind = FrameKind::Hello;
  ASSERT_TRUE(
      sendLarge(frameBytes(Header, helloWith(Many.c_str(), Many.c_str()))));
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Welcome);
  send(FrameKind::Bye, "");
  hangUp();
  expectServes();
}

TEST_P(PeerFaultsTest, ASilentCompilerKeepsNobodyForever) {
  connect();
  Stopwatch Watch;
  auto R = P->next(Deadline::in(Short));
  ASSERT_FALSE(R);
  EXPECT_EQ(R.status().code(), StatusCode::Timeout);
  EXPECT_GE(Watch.elapsed(), Short);
  EXPECT_LT(Watch.elapsed(), Short + Slack);
  EXPECT_LT(Watch.processor(), milliseconds(50));
  if (Channel.OneSessionAtATime) {
    Status Why = open(Short).whyNot();
    EXPECT_EQ(Why.code(), StatusCode::Timeout) << Why.toString();
  }
  hangUp();
  expectServes();
}

TEST_P(PeerFaultsTest, ASlowCompilerIsWaitedFor) {
  connect();
  std::string Slowly = frameBytes(Header, Hello{Serdes, oneNumber()}.encode());
  for (char Byte : Slowly) {
    Compiler->send(std::string_view(&Byte, 1));
    pump();
  }
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Welcome);
  Header.Kind = FrameKind::Request;
  Header.Sequence = 1;
  for (char Byte : frameBytes(Header, encodedX(5))) {
    Compiler->send(std::string_view(&Byte, 1));
    pump();
  }
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Reply);
  send(FrameKind::Bye, "");
  hangUp();
  settle(0);
  EXPECT_EQ(Seen, "5 done5");
  EXPECT_EQ(Errors.size(), 0u);
  expectServes();
}

TEST_P(PeerFaultsTest, GarbageOutOfTurnBreaksTheSessionNotThePeer) {
  if (!Channel.OneSessionAtATime)
    GTEST_SKIP() << "others cannot reach a session";
  greet();
  exchange(5);
  auto Rude = Channel.MakeCompiler(Address, Manners::Rude);
  ASSERT_TRUE(Rude);
  ASSERT_TRUE(Rude->send(std::string(1000, 'z')));
  settle(1);
  EXPECT_EQ(Errors[0].code(), StatusCode::Protocol);
  EXPECT_EQ(Seen, "5 done!5");
  auto F = answer(); // the innocent is told
  EXPECT_EQ(F->Header.Kind, FrameKind::Failure);
  EXPECT_EQ(F->Header.Flags, FrameHeader::EndsSession);
  Rude.reset();
  hangUp();
  expectServes();
}

TEST_P(PeerFaultsTest, AFloodIsDrained) {
  connect();
  // Where others can come meanwhile, nobody reads it all.
  EXPECT_EQ(sendLarge(std::string(8 << 20, 'z')),
            Channel.OneSessionAtATime || Channel.OwnFraming);
  hangUp();
  settle(1);
  EXPECT_EQ(Errors.size(), 1u);
  expectServes();
}

TEST_P(PeerFaultsTest, AReplyThatNobodyTakes) {
  // More than fits into any buffer, to a compiler that does not read, and then
  // to one that is gone.
  std::string Big = "{\"name\":\"y\",\"type\":\"int64_t\",\"shape\":[1000000]}";
  for (bool Dies : {false, true}) {
    Errors.clear();
    Seen.clear();
    Holds = true;
    sendHello(*this, "{\"serdes\":\"" + Serdes + "\",\"features\":[" + X +
                         "],\"decision\":[" + Big + "]}");
    ASSERT_TRUE(answer());
    request(5);
    pumpUntil([&] { return P->awaitsReply(); });
    Holds = false;
    Stopwatch Watch;
    if (Dies)
      hangUp();
    Status S = P->reply(Deadline::in(Short));
    EXPECT_EQ(S.code(), Channel.WholeMessages ? StatusCode::Ok
                        : Dies                ? StatusCode::PeerClosed
                                              : StatusCode::Timeout)
        << S.toString();
    // Encoding takes its time, and so does the farewell.
    EXPECT_LT(Watch.elapsed(), Short + milliseconds(300) + Slack);
    hangUp();
    settle(1);
    EXPECT_EQ(Seen, "5 done!5");
    expectServes();
  }
}

TEST_P(PeerFaultsTest, AFileInTheWay) {
  std::vector<std::string> Made = filesIn(Directory);
  ASSERT_FALSE(Made.empty());
  P.reset();
  for (const std::string &Name : Made) {
    std::string Path = Directory + "/" + Name;
    ASSERT_TRUE(os::openFile(Path, O_WRONLY | O_CREAT | O_EXCL, S_IRUSR));
    Expected<Peer> Opened = Peer::open(Address);
    if (Opened)
      continue; // it makes no difference, and goes with the peer
    EXPECT_NE(Opened.status().message().find(Path), std::string::npos)
        << Opened.status().message();
    EXPECT_EQ(filesIn(Directory), std::vector<std::string>{Name});
    ::unlink(Path.c_str());
  }
}

TEST_P(PeerFaultsTest, NoQuestionNoReply) {
  EXPECT_FALSE(P->awaitsReply());
  EXPECT_TRUE(P->reply().ok());
  EXPECT_TRUE(P->fail("why not").ok());
  Holds = true;
  greet();
  request(5);
  pumpUntil([&] { return P->awaitsReply(); });
  EXPECT_EQ(P->next(soon()).status().code(), StatusCode::InvalidArgument);
  Holds = false;
  decide(*P, 6);
  EXPECT_TRUE(P->reply().ok()); // only one of them is sent
  EXPECT_EQ(answer()->Header.Kind, FrameKind::Reply);
  exchange(6);
  hangUp();
  settle(1);
  expectServes();
}

TEST_P(PeerFaultsTest, WhoeverWaitsIsTold) {
  P->failAll("nobody waits");
  Holds = true;
  greet();
  request(5);
  pumpUntil([&] { return P->awaitsReply(); });
  P->failAll("the model is gone");
  EXPECT_FALSE(P->awaitsReply());
  std::optional<RawFrame> Told = answer();
  ASSERT_TRUE(Told);
  EXPECT_EQ(Told->Header.Kind, FrameKind::Failure);
  EXPECT_EQ(Told->Payload, "the model is gone");
  Holds = false;
  exchange(6);
  hangUp();
  settle(1);
  expectServes();
}

TEST_P(PeerFaultsTest, WhoLeavesWhileTheModelThinksIsNoticed) {
  Holds = true;
  greet();
  request(5);
  pumpUntil([&] { return P->awaitsReply(); });
  hangUp();
  std::vector<std::shared_ptr<const Request>> Came;
  for (Deadline Until = soon(); Came.empty();) {
    ASSERT_FALSE(Until.passed());
    (void)P->nextBatch(Until, Came);
  }
  ASSERT_EQ(Came.size(), 1u);
  EXPECT_TRUE(Came[0]->done() && Came[0]->truncated());
  EXPECT_EQ(asked(*Came[0]), 5);
  EXPECT_FALSE(P->awaitsReply());
  ASSERT_EQ(Errors.size(), 1u);
  EXPECT_EQ(Errors[0].code(), StatusCode::PeerClosed);
  Holds = false;
  settle(1);
  expectServes();
}

TEST_P(PeerFaultsTest, AQuestionGoesWithItsCompiler) {
  if (Channel.OneSessionAtATime)
    GTEST_SKIP() << "nobody else has a question";
  greet();
  std::unique_ptr<RawEnd> Other = std::move(Compiler);
  FrameHeader OthersHeader = Header;
  greet();
  request(5);
  std::swap(Compiler, Other);
  std::swap(Header, OthersHeader);
  request(6);
  // One is answered; the other's question waits in the peer.
  std::vector<std::shared_ptr<const Request>> Came;
  ASSERT_TRUE(P->nextBatch(soon(), Came, 1).ok());
  ASSERT_EQ(Came.size(), 1u);
  ASSERT_TRUE(P->reply(*Came[0]).ok());
  int64_t Left = asked(*Came[0]) == 5 ? 6 : 5;
  (Left == 6 ? Compiler : Other).reset();
  // By then a peer looks for those who have left.
  std::this_thread::sleep_for(milliseconds(150));
  Came.clear();
  for (Deadline Until = soon(); Came.empty() || !Came.back()->done();) {
    ASSERT_FALSE(Until.passed());
    (void)P->nextBatch(Until, Came, 1);
    ASSERT_FALSE(Came.empty());
    if (!Came.back()->done()) { // it was not noticed yet
      ASSERT_TRUE(P->awaitsReply(*Came.back()));
      (void)P->reply(*Came.back());
    }
  }
  EXPECT_EQ(asked(*Came.back()), Left);
  EXPECT_TRUE(Came.back()->truncated());
  Compiler.reset();
  Other.reset();
  settle(2);
  expectServes();
}

TEST_P(PeerFaultsTest, QuestionsOutliveTheirSession) {
  std::vector<std::shared_ptr<const Request>> Kept;
  for (int64_t Session = 0; Session < 3; ++Session) {
    greet();
    for (int64_t X = 0; X < 5; ++X) {
      request(100 * Session + X);
      for (Deadline Until = soon(); !P->awaitsReply();) {
        ASSERT_FALSE(Until.passed());
        if (auto R = P->next(Deadline::in(milliseconds(1))))
          Kept.push_back(*R);
      }
      decide(*P, 0);
      ASSERT_TRUE(answer());
    }
    hangUp();
    settle(1);
  }
  ASSERT_EQ(Kept.size(), 15u);
  for (int64_t I = 0; I < 15; ++I) {
    EXPECT_EQ(asked(*Kept[size_t(I)]), 100 * (I / 5) + I % 5);
    EXPECT_EQ(Kept[size_t(I)]->signature(), oneNumber());
  }
}

} // namespace
