//===- ChannelFaultsTest.cpp - The compiler against bad peers -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ServedPeer.h"

#include "channel/Handshake.h"
#include "serdes/Serializer.h"

#include <cmath>
#include <cstring>
#include <future>
#include <thread>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

/// What the compiler waits for: the right answer, and the end to send it from.
struct Exchange {
  RawEnd &End;
  FrameHeader Header;
  std::string Payload;

  std::string bytes() const { return frameBytes(Header, Payload); }
  bool send() { return End.send(bytes()); }
  bool silence() { return End.awaitHangUp(soon()); }
};

/// A way to answer that ends the session. Returning hangs up.
struct Fault {
  const char *Name;
  StatusCode Code;
  const char *Says;
  void (*Do)(Exchange &);
};

void sendChanged(Exchange &E, size_t At, char To) {
  std::string Whole = E.bytes();
  Whole[At] = To;
  E.End.send(Whole);
}

const Fault Faults[] = {
    {"HangsUp", StatusCode::PeerClosed, "closed the connection",
     [](Exchange &) {}},
    {"Silence", StatusCode::Timeout, "no answer from",
     [](Exchange &E) { E.silence(); }},
    {"HalfAHeader", StatusCode::PeerClosed, "after 32 bytes",
     [](Exchange &E) { E.End.send(E.bytes().substr(0, 32)); }},
    {"HalfAHeaderThenSilence", StatusCode::Timeout, "stopped after 32 bytes",
     [](Exchange &E) {
       E.End.send(E.bytes().substr(0, 32));
       E.silence();
     }},
    {"OneByte", StatusCode::PeerClosed, "after 1 bytes",
     [](Exchange &E) { E.End.send(E.bytes().substr(0, 1)); }},
    {"HeaderOnly", StatusCode::PeerClosed, "after 64 bytes",
     [](Exchange &E) { E.End.send(E.bytes().substr(0, 64)); }},
    {"HalfAPayload", StatusCode::PeerClosed, "after 80 bytes",
     [](Exchange &E) { E.End.send(E.bytes().substr(0, 80)); }},
    {"HalfAPayloadThenSilence", StatusCode::Timeout, "stopped after 80 bytes",
     [](Exchange &E) {
       E.End.send(E.bytes().substr(0, 80));
       E.silence();
     }},
    {"Garbage", StatusCode::Protocol, "no frame",
     [](Exchange &E) { E.End.send(std::string(100'000, 'z')); }},
    {"OneByteOfGarbage", StatusCode::Protocol, "no frame",
     [](Exchange &E) {
       E.End.send("z");
       E.silence();
     }},
    {"LengthOf2To62", StatusCode::Protocol, "announces 4611686018427387904",
     [](Exchange &E) {
       E.Header.Length = uint64_t(1) << 62;
       E.End.send(headerBytes(E.Header));
       E.silence();
     }},
    {"LengthUpToTheLimit", StatusCode::Timeout, "stopped after 64 bytes",
     [](Exchange &E) {
       E.Header.Length = uint64_t(1) << 30;
       E.End.send(headerBytes(E.Header));
       E.silence();
     }},
    {"WrongMagic", StatusCode::Protocol, "no frame",
     [](Exchange &E) { sendChanged(E, 3, 'X'); }},
    {"WrongVersion", StatusCode::Protocol, "version 2, expected 1",
     [](Exchange &E) { sendChanged(E, 4, 2); }},
    {"UnknownKind", StatusCode::Protocol, "unknown kind 99",
     [](Exchange &E) { sendChanged(E, 6, 99); }},
    {"UnknownFlags", StatusCode::Protocol, "unknown flags",
     [](Exchange &E) { sendChanged(E, 8, 64); }},
    {"ReservedBytes", StatusCode::Protocol, "reserved bytes",
     [](Exchange &E) { sendChanged(E, 63, 1); }},
    {"WrongKind", StatusCode::Protocol, "sends a frame of kind 3",
     [](Exchange &E) {
       E.Header.Kind = FrameKind::Request;
       E.send();
     }},
    {"WrongSession", StatusCode::Protocol, "answers another session",
     [](Exchange &E) {
       E.Header.Session ^= 1;
       E.send();
     }},
    {"WrongSequence", StatusCode::Protocol, "answers request",
     [](Exchange &E) {
       E.Header.Sequence += 1;
       E.send();
     }},
    {"OldSequence", StatusCode::Protocol, "answers request",
     [](Exchange &E) {
       E.Header.Sequence -= 1;
       E.send();
     }},
    {"GarbledPayload", StatusCode::Protocol, "",
     [](Exchange &E) {
       E.Payload = "garbled";
       E.send();
     }},
    {"EmptyPayload", StatusCode::Protocol, "",
     [](Exchange &E) {
       E.Payload.clear();
       E.send();
     }},
    {"EndsTheSession", StatusCode::PeerClosed, "ended the session: enough",
     [](Exchange &E) {
       E.Header.Kind = FrameKind::Failure;
       E.Header.Flags = FrameHeader::EndsSession;
       E.Payload = "enough";
       E.send();
     }},
};

/// Runs a script as the peer at an address, and hangs up after it.
class RawPeer {
public:
  RawPeer(const ChannelUnderTest &Channel, const std::string &Address,
          std::function<void(RawEnd &)> Script)
      : End(Channel.MakePeer(Address)) {
    EXPECT_TRUE(End) << Address;
    if (End)
      Thread = std::thread([this, Script = std::move(Script)] {
        Script(*End);
        End.reset();
      });
  }
  ~RawPeer() {
    if (Thread.joinable())
      Thread.join();
  }

private:
  std::unique_ptr<RawEnd> End;
  std::thread Thread;
};

std::string encoded(const std::string &Serdes, const TensorStorage &Tensors) {
  Message To;
  EXPECT_TRUE((*makeSerializer(Serdes))->encode(Tensors.views(), To).ok());
  std::string Payload(asText(To.own()));
  for (Bytes Piece : To.lent())
    Payload += asText(Piece);
  return Payload;
}

/// The payload of y = Value.
std::string encodedNumber(const std::string &Serdes, int64_t Value) {
  TensorStorage Y(oneNumber().outputs());
  std::memcpy(Y.bytes(0).data(), &Value, sizeof(Value));
  return encoded(Serdes, Y);
}

Exchange answerTo(RawEnd &End, FrameKind Kind, std::string Payload) {
  Exchange E{End, {}, std::move(Payload)};
  std::optional<RawFrame> Asked = End.receiveFrame(soon());
  EXPECT_TRUE(Asked) << "the compiler does not ask";
  if (Asked)
    E.Header = Asked->Header;
  E.Header.Kind = Kind;
  return E;
}

Exchange greeting(RawEnd &End, const Signature &Sig = oneNumber()) {
  return answerTo(End, FrameKind::Welcome, encodeWelcome(Sig.outputs()));
}

class BadPeers : public ChannelFixture {
protected:
  using ChannelFixture::ChannelFixture;

  Exchange reply(RawEnd &End, int64_t Y) {
    return answerTo(End, FrameKind::Reply, encodedNumber(Serdes, Y));
  }
  Model openReporting(milliseconds Timeout, Signature Sig = oneNumber()) {
    Expected<Model> M =
        Model::open(runnerString(Timeout), std::move(Sig),
                    [this](const Status &Why) { Reports.push_back(Why); });
    EXPECT_TRUE(M) << M.status().toString();
    return *M;
  }
  /// The wait since Watch began has not been longer, or busier, than allowed.
  void expectInTime(const Stopwatch &Watch) {
    EXPECT_LT(Watch.elapsed(), Short + Slack);
    EXPECT_LT(Watch.processor(), milliseconds(Sanitized ? 120 : 40));
  }
  /// What is wrong with a message's frame is said as its channel says it.
  std::string_view asSaid(std::string_view Says) const {
    static constexpr std::string_view OfFrames[] = {
        "after",   "no frame",      "announces",
        "version", "unknown flags", "reserved bytes"};
    for (std::string_view Each : OfFrames)
      if (Channel.OwnFraming && Says.find(Each) != Says.npos)
        return "";
    return Says;
  }
  void expectSays(const Status &Why, StatusCode Code, std::string_view Says) {
    Says = asSaid(Says);
    EXPECT_EQ(Why.code(), Code) << Why.toString();
    EXPECT_NE(Why.message().find(Says), std::string::npos) << Why.message();
    EXPECT_NE(Why.message().find(Address), std::string::npos) << Why.message();
  }
  /// The model is closed: no waiting, no stale values, one report.
  void expectFallsBackForGood(const Model &M, MLModelRunner &Runner,
                              StatusCode Code) {
    EXPECT_EQ(M.whyNot().code(), Code);
    Stopwatch Watch;
    for (int64_t I = 0; I < 10'000; ++I) {
      Runner.populateFeatures(std::pair{"x", I});
      ASSERT_EQ(Runner.evaluateOr<int64_t>([&] { return -I; }), -I);
    }
    EXPECT_LT(Watch.elapsed(), seconds(1));
    EXPECT_EQ(Runner.stats().Fallbacks, 10'000u);
    EXPECT_EQ(Runner.lastError().code(), Code);
    EXPECT_EQ(ask(Runner, 1).status().code(), Code);
    MLModelRunner Another = M.runner();
    EXPECT_EQ(Another.evaluateOr<int64_t>([] { return 77; }), 77);
    ASSERT_EQ(Reports.size(), 1u);
    EXPECT_EQ(Reports[0].code(), Code);
  }

  std::vector<Status> Reports;
};

class PeerFault
    : public BadPeers,
      public ::testing::WithParamInterface<
          std::tuple<const ChannelUnderTest *, std::string, const Fault *>> {
protected:
  PeerFault()
      : BadPeers(std::get<0>(GetParam()), std::get<1>(GetParam())),
        F(*std::get<2>(GetParam())) {}
  const Fault &F;
};

std::vector<const Fault *> allFaults() {
  std::vector<const Fault *> List;
  for (const Fault &F : Faults)
    List.push_back(&F);
  return List;
}

std::string
faultName(const ::testing::TestParamInfo<PeerFault::ParamType> &Info) {
  return ChannelAndSerdesNamer()(Info) + "_" + std::get<2>(Info.param)->Name;
}
CBRIDGE_FOR_EVERY_CHANNEL_AND(PeerFault, allFaults(), faultName);

TEST_P(PeerFault, InsteadOfWelcome) {
  {
    RawPeer Bad(Channel, Address, [this](RawEnd &End) {
      Exchange E = greeting(End);
      F.Do(E);
    });
    Stopwatch Watch;
    Model M = openReporting(Short);
    expectInTime(Watch);
    expectSays(M.whyNot(), F.Code, F.Says);
    MLModelRunner Runner = M.runner();
    expectFallsBackForGood(M, Runner, F.Code);
  }
  expectHealthy();
}

TEST_P(PeerFault, InsteadOfReply) {
  if (Channel.WholeMessages && !Channel.OwnFraming &&
      F.Name == std::string_view("ReservedBytes"))
    GTEST_SKIP() << "the channel uses them itself";
  {
    RawPeer Bad(Channel, Address, [this](RawEnd &End) {
      greeting(End).send();
      reply(End, 42).send();
      Exchange E = reply(End, 43);
      F.Do(E);
    });
    Model M = openReporting(Short);
    MLModelRunner Runner = M.runner();
    Expected<int64_t> First = ask(Runner, 41);
    ASSERT_TRUE(First) << First.status().toString();
    EXPECT_EQ(*First, 42);
    Stopwatch Watch;
    Expected<int64_t> Second = ask(Runner, 42);
    expectInTime(Watch);
    ASSERT_FALSE(Second) << "a stale " << *Second;
    bool Half = std::string_view(F.Says).find("after") != std::string::npos;
    expectSays(Second.status(), F.Code,
               Half && Channel.WholeMessages ? "" : F.Says);
    expectFallsBackForGood(M, Runner, F.Code);
  }
  expectHealthy();
}

class ChannelFaultsTest
    : public BadPeers,
      public ::testing::WithParamInterface<ChannelAndSerdes> {
protected:
  ChannelFaultsTest()
      : BadPeers(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
};
CBRIDGE_FOR_EVERY_CHANNEL(ChannelFaultsTest);

TEST_P(ChannelFaultsTest, NobodyIsThere) {
  Stopwatch Watch;
  Model M = openReporting(Long);
  EXPECT_LT(Watch.elapsed(), Slack);
  expectSays(M.whyNot(), StatusCode::Unavailable, "nobody serves");
  MLModelRunner Runner = M.runner();
  expectFallsBackForGood(M, Runner, StatusCode::Unavailable);
  auto Failed = Model::open(runnerString(Long, "&on_error=fail"), oneNumber());
  ASSERT_FALSE(Failed);
  expectSays(Failed.status(), StatusCode::Unavailable, "nobody serves");
  expectHealthy();
}

TEST_P(ChannelFaultsTest, NobodyComes) {
  Stopwatch Watch;
  auto M = Model::open(runnerString(Long, "&connect=150ms"), oneNumber());
  ASSERT_TRUE(M);
  EXPECT_GE(Watch.elapsed(), Short);
  expectInTime(Watch);
  expectSays(M->whyNot(), StatusCode::Timeout, "nobody serves");
}

TEST_P(ChannelFaultsTest, SomebodyComes) {
  auto Coming = std::async(std::launch::async, [this] {
    return std::make_unique<ServedPeer>(Address, increment);
  });
  auto M = Model::open(runnerString(Long, "&connect=30s"), oneNumber());
  auto Peer = Coming.get();
  ASSERT_TRUE(M);
  MLModelRunner Runner = M->runner();
  EXPECT_EQ(ask(Runner, 1).valueOr(-1), 2) << M->whyNot().toString();
}

TEST_P(ChannelFaultsTest, WelcomesWithAnotherDecision) {
  const std::pair<TensorSpec, const char *> Cases[] = {
      {TensorSpec::create<float>("y"),
       "decision 'y': pass wants int64_t[1], peer gives float[1]"},
      {TensorSpec::create<int64_t>("y", {2}),
       "decision 'y': pass wants int64_t[1], peer gives int64_t[2]"},
      {TensorSpec::create<int64_t>("z"),
       "decision 'y': pass wants int64_t[1], peer gives nothing"},
  };
  for (const auto &[Gives, Says] : Cases) {
    RawPeer Bad(Channel, Address, [&, &Gives = Gives](RawEnd &End) {
      greeting(End, {{}, Gives}).send();
      End.awaitHangUp(soon());
    });
    EXPECT_EQ(open(Short).whyNot().message(), Says);
  }
  expectHealthy();
}

TEST_P(ChannelFaultsTest, RepliesWithAnotherDecision) {
  bool KnowsTypes = Serdes != "bitstream",
       KnowsNames = Serdes == "json" || Serdes == "protobuf";
  const struct {
    std::vector<TensorSpec> Gives;
    StatusCode Code;
    bool Applies;
  } Cases[] = {
      {{TensorSpec::create<float>("y")}, StatusCode::TypeMismatch, KnowsTypes},
      {{TensorSpec::create<int64_t>("y", {20})},
       KnowsTypes ? StatusCode::ShapeMismatch : StatusCode::Protocol,
       true},
      {{TensorSpec::create<int64_t>("z")}, StatusCode::Protocol, KnowsNames},
      {{}, StatusCode::Protocol, true},
  };
  for (const auto &C : Cases) {
    if (!C.Applies)
      continue;
    RawPeer Bad(Channel, Address, [&](RawEnd &End) {
      greeting(End).send();
      Exchange E = reply(End, 0);
      E.Payload = encoded(Serdes, TensorStorage(C.Gives));
      E.send();
      if (C.Code != StatusCode::Protocol)
        reply(End, 7).send();
      End.awaitHangUp(soon());
    });
    Model M = open(Short);
    MLModelRunner Runner = M.runner();
    Status S = ask(Runner, 1).status();
    expectSays(S, C.Code, "");
    if (C.Code == StatusCode::Protocol) {
      EXPECT_EQ(M.whyNot().code(), C.Code);
    } else {
      // Both ends still agree on where they are.
      EXPECT_NE(S.message().find("'y'"), std::string::npos) << S.message();
      EXPECT_TRUE(M.whyNot().ok());
      EXPECT_EQ(ask(Runner, 1).valueOr(-1), 7);
    }
  }
  expectHealthy();
}

TEST_P(ChannelFaultsTest, RepliesTwice) {
  if (Channel.AnswersOnce)
    GTEST_SKIP() << "there is no place for a second reply";
  RawPeer Bad(Channel, Address, [&](RawEnd &End) {
    greeting(End).send();
    Exchange First = reply(End, 42);
    First.send();
    First.send();
    End.awaitHangUp(soon());
  });
  Model M = openReporting(Short);
  MLModelRunner Runner = M.runner();
  EXPECT_EQ(ask(Runner, 41).valueOr(-1), 42);
  expectSays(ask(Runner, 1).status(), StatusCode::Protocol,
             "answers request 1 instead of 2");
  expectFallsBackForGood(M, Runner, StatusCode::Protocol);
}

TEST_P(ChannelFaultsTest, DecidesWhatIsNotANumber) {
  Signature Sig({TensorSpec::create<int64_t>("x")},
                TensorSpec::create<float>("y", {2}));
  ServedPeer Peer(Address, [](cbridge::Peer &P, const Request &R) {
    if (R.done())
      return;
    float Y[2] = {1, asked(R) ? float(asked(R)) : NAN};
    std::memcpy(P.decision().bytes(0).data(), Y, sizeof(Y));
    (void)P.reply();
  });
  Model M = openReporting(Long, Sig);
  {
    MLModelRunner Runner = M.runner();
    for (int Round = 0; Round < 3; ++Round) {
      Runner.populateFeatures(std::pair{"x", 0});
      Status S = Runner.evaluate<std::vector<float>>().status();
      EXPECT_EQ(S.code(), StatusCode::IllegalDecision);
      EXPECT_NE(S.message().find("'y'"), std::string::npos) << S.message();
      Runner.populateFeatures(std::pair{"x", 5});
      auto Y = Runner.evaluate<std::vector<float>>();
      ASSERT_TRUE(Y) << Y.status().toString();
      EXPECT_EQ((*Y)[1], 5);
    }
  }
  EXPECT_TRUE(M.whyNot().ok());
  EXPECT_EQ(M.stats().Illegal, 3u);
  EXPECT_EQ(M.stats().Decisions, 3u);
}

TEST_P(ChannelFaultsTest, DecidesWhatIsNotAllowed) {
  ServedPeer Peer(Address, increment);
  Model M = openReporting(Long);
  {
    MLModelRunner Runner = M.runner();
    const bool Mask[] = {true, false, true};
    Runner.setMask(Mask);
    for (int Round = 0; Round < 3; ++Round) {
      for (int64_t X : {0, 2, -2, 1'000'000}) {
        Runner.populateFeatures(std::pair{"x", X});
        EXPECT_EQ(Runner.evaluateOr<int64_t>([] { return -7; }), -7) << X;
        EXPECT_EQ(Runner.lastError().code(), StatusCode::IllegalDecision);
      }
      EXPECT_EQ(ask(Runner, 1).valueOr(-1), 2);
    }
    Runner.setMask({});
    Runner.setRange(0, 10);
    EXPECT_EQ(ask(Runner, 10).status().code(), StatusCode::IllegalDecision);
    EXPECT_EQ(ask(Runner, 9).valueOr(-1), 10);
  }
  EXPECT_TRUE(M.whyNot().ok());
  EXPECT_EQ(M.stats().Illegal, 13u);
  EXPECT_EQ(M.stats().Fallbacks, 12u);
  EXPECT_EQ(M.stats().Decisions, 4u);
  EXPECT_EQ(Reports.size(), 1u);
}

TEST_P(ChannelFaultsTest, AnswersTooLate) {
  std::promise<void> GaveUp;
  std::atomic<bool> Truncated{false};
  ServedPeer Peer(Address, [&, Late = GaveUp.get_future().share()](
                               cbridge::Peer &P, const Request &R) {
    if (!R.done() && asked(R) == 13) {
      Late.wait();
      decide(P, 1313);
    } else {
      if (R.truncated())
        Truncated = asked(R) == 13;
      increment(P, R);
    }
  });
  Model M = openReporting(Short);
  MLModelRunner Runner = M.runner();
  Stopwatch Watch;
  Status S = ask(Runner, 13).status();
  EXPECT_GE(Watch.elapsed(), Short);
  expectInTime(Watch);
  expectSays(S, StatusCode::Timeout, "within 150 ms");
  GaveUp.set_value();
  expectFallsBackForGood(M, Runner, StatusCode::Timeout);
  expectServed();
  EXPECT_TRUE(Truncated) << "the peer was not told that the episode broke off";
}

TEST_P(ChannelFaultsTest, ThreadsDoNotWaitInARow) {
  RawPeer Bad(Channel, Address, [&](RawEnd &End) {
    greeting(End).send();
    End.awaitHangUp(soon());
  });
  Model M = open(Short);
  Stopwatch Watch;
  std::vector<std::thread> Threads;
  for (int T = 0; T < 8; ++T)
    Threads.emplace_back([&M] {
      MLModelRunner Runner = M.runner();
      EXPECT_EQ(Runner.evaluateOr<int64_t>([] { return 5; }), 5);
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_LT(Watch.elapsed(), Short + Slack);
  EXPECT_EQ(M.stats().Fallbacks, 8u);
}

class LargeRequests : public ChannelFaultsTest {
protected:
  static Signature signature() {
    return {{TensorSpec::create<int64_t>("x", {Dynamic})},
            TensorSpec::create<int64_t>("y")};
  }
  static Status askAtLength(MLModelRunner &Runner) {
    Runner.populateFeatures(std::pair{"x", std::vector<int64_t>(1 << 20)});
    return Runner.evaluate<int64_t>().status();
  }
};
CBRIDGE_FOR_EVERY_CHANNEL(LargeRequests);

TEST_P(LargeRequests, AreNotRead) {
  std::promise<void> GaveUp;
  RawPeer Bad(Channel, Address,
              [Until = GaveUp.get_future().share()](RawEnd &End) {
                greeting(End, signature()).send();
                Until.wait();
              });
  Model M = open(Short, signature());
  MLModelRunner Runner = M.runner();
  Stopwatch Watch;
  Status S = askAtLength(Runner);
  GaveUp.set_value();
  EXPECT_LT(Watch.elapsed(), Short + Slack + milliseconds(200)); // encodes 8 MB
  expectSays(S, StatusCode::Timeout,
             Channel.WholeMessages ? "no answer" : "does not take the message");
  EXPECT_EQ(M.whyNot().code(), StatusCode::Timeout);
}

TEST_P(LargeRequests, AreReadByHalf) {
  RawPeer Bad(Channel, Address, [](RawEnd &End) {
    greeting(End, signature()).send();
    std::string Part;
    End.receive(100'000, Part, soon());
  });
  Model M = open(Long, signature());
  MLModelRunner Runner = M.runner();
  Stopwatch Watch;
  expectSays(askAtLength(Runner), StatusCode::PeerClosed, "closed");
  EXPECT_LT(Watch.elapsed(), Long / 2);
}

} // namespace
