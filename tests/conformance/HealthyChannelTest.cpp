//===- HealthyChannelTest.cpp - Both ends behave --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ServedPeer.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <thread>

using namespace cbridge;
using namespace cbridge::conformance;

namespace {

using HealthyChannelTest = EveryChannel;
CBRIDGE_FOR_EVERY_CHANNEL(HealthyChannelTest);
CBRIDGE_FOR_GRPC_PORT(HealthyChannelTest);

/// Sends every feature back as the output of the same index.
void echo(Peer &P, const Request &R) {
  if (R.done())
    return;
  for (size_t I = 0; I < R.signature().inputs().size(); ++I)
    if (Status S = P.decision().assign(I, R.feature(I)); !S) {
      (void)P.fail(S.message());
      return;
    }
  (void)P.reply();
}

template <typename T> std::array<T, 3> extremes() {
  return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max(),
          std::numeric_limits<T>::denorm_min()};
}

template <typename T> void addTensor(std::vector<TensorSpec> &To) {
  To.push_back(TensorSpec::create<T>(
      "t" + std::to_string(int(elementTypeOf<T>())), {3}));
}

template <typename T> void fill(MLModelRunner &Runner, std::array<T, 3> With) {
  Runner.populateFeatures(
      std::pair{"t" + std::to_string(int(elementTypeOf<T>())), With});
}

template <typename T>
void expectBack(const Decision &D, std::array<T, 3> Wanted) {
  auto Got =
      D.get<Span<const T>>("t" + std::to_string(int(elementTypeOf<T>())));
  ASSERT_TRUE(Got) << Got.status().toString();
  ASSERT_EQ(Got->size(), Wanted.size());
  for (size_t I = 0; I < Wanted.size(); ++I)
    EXPECT_EQ((*Got)[I], Wanted[I]) << toString(elementTypeOf<T>());
}

template <typename... T> struct Types {
  static Signature signature() {
    std::vector<TensorSpec> Specs;
    (addTensor<T>(Specs), ...);
    return {Specs, Specs};
  }
  static void fillAll(MLModelRunner &Runner) {
    (fill<T>(Runner, extremes<T>()), ...);
  }
  static void expectAllBack(const Decision &D) {
    (expectBack<T>(D, extremes<T>()), ...);
  }
};

using Numbers = Types<bool, int8_t, int16_t, int32_t, int64_t, uint8_t,
                      uint16_t, uint32_t, uint64_t, float, double>;

TEST_P(HealthyChannelTest, CarriesEveryElementType) {
  ServedPeer Peer(Address, echo);
  MLModelRunner Runner = open(Long, Numbers::signature()).runner();
  Numbers::fillAll(Runner);
  Expected<Decision> D = Runner.evaluate();
  ASSERT_TRUE(D) << D.status().toString();
  Numbers::expectAllBack(*D);
}

TEST_P(HealthyChannelTest, CarriesWhatIsNotFinite) {
  // Features may be anything; a decision must be a number.
  Signature Sig({TensorSpec::create<double>("x", {3})},
                TensorSpec::create<bool>("ok"));
  ServedPeer Peer(Address, [](cbridge::Peer &P, const Request &R) {
    if (R.done())
      return;
    auto X = R.feature(0).as<double>();
    P.decision().bytes(0)[0] =
        std::isnan(X[0]) && X[1] == INFINITY && X[2] == 0 && std::signbit(X[2]);
    (void)P.reply();
  });
  MLModelRunner Runner = open(Long, Sig).runner();
  Runner.populateFeatures(
      std::pair{"x", std::array<double, 3>{NAN, INFINITY, -0.0}});
  Expected<bool> Ok = Runner.evaluate<bool>();
  ASSERT_TRUE(Ok) << Ok.status().toString();
  EXPECT_TRUE(*Ok);
}

TEST_P(HealthyChannelTest, CarriesDynamicTensorsAndStrings) {
  std::vector<TensorSpec> Specs = {
      TensorSpec::create<int32_t>("list", {Dynamic}),
      TensorSpec::create<float>("matrix", {Dynamic, Dynamic}),
      TensorSpec::create<std::string>("words", {Dynamic}),
      TensorSpec::create<std::string>("pair", {2})};
  ServedPeer Peer(Address, echo);
  MLModelRunner Runner = open(Long, {Specs, Specs}).runner();
  for (size_t Size : {3, 0, 1, 5000, 2}) {
    std::vector<int32_t> List(Size);
    std::iota(List.begin(), List.end(), -1);
    std::vector<std::vector<float>> Matrix(Size, {0.5f, float(Size)});
    std::vector<std::string> Words(Size, "größer \"\n");
    std::vector<std::string> Pair = {"", std::string("nul\0inside", 10)};
    Runner.populateFeatures(std::pair{"list", List},
                            std::pair{"matrix", Matrix},
                            std::pair{"words", Words}, std::pair{"pair", Pair});
    Expected<Decision> D = Runner.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    EXPECT_EQ(*D->get<std::vector<int32_t>>("list"), List);
    TensorView M = D->tensor(1), W = D->tensor(2), P = D->tensor(3);
    EXPECT_EQ(M.Extents[0], int64_t(Size));
    ASSERT_EQ(M.as<float>().size(), 2 * Size);
    for (size_t I = 0; I < Size; ++I)
      ASSERT_EQ(M.as<float>()[2 * I + 1], float(Size));
    ASSERT_EQ(W.elementCount(), Size);
    for (size_t I = 0; I < Size; ++I)
      ASSERT_EQ(W.string(I), Words[I]);
    EXPECT_EQ(P.string(0), Pair[0]);
    EXPECT_EQ(P.string(1), Pair[1]);
  }
}

TEST_P(HealthyChannelTest, CarriesSeveralOutputs) {
  Signature Sig({TensorSpec::create<int64_t>("x")},
                {TensorSpec::create<int64_t>("next"),
                 TensorSpec::create<double>("halves", {2}),
                 TensorSpec::create<std::string>("text", {})});
  ServedPeer Peer(Address, [](cbridge::Peer &P, const Request &R) {
    if (R.done())
      return;
    int64_t Next = asked(R) + 1;
    double Halves[2] = {asked(R) / 2.0, -asked(R) / 2.0};
    std::string Text = std::to_string(Next);
    std::string_view View = Text;
    std::memcpy(P.decision().bytes(0).data(), &Next, sizeof(Next));
    std::memcpy(P.decision().bytes(1).data(), Halves, sizeof(Halves));
    (void)P.decision().setStrings(2, {&View, 1}, {});
    (void)P.reply();
  });
  MLModelRunner Runner = open(Long, Sig).runner();
  for (int64_t X : {9, 1234567}) {
    Runner.populateFeatures(std::pair{"x", X});
    Expected<Decision> D = Runner.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    EXPECT_EQ(*D->get<int64_t>("next"), X + 1);
    EXPECT_EQ(*D->get<std::vector<double>>("halves"),
              (std::vector<double>{X / 2.0, -X / 2.0}));
    EXPECT_EQ(*D->get<std::string>("text"), std::to_string(X + 1));
    EXPECT_EQ(D->get<int64_t>("nothing").status().code(),
              StatusCode::InvalidArgument);
  }
}

TEST_P(HealthyChannelTest, CarriesLargeMessages) {
  Signature Sig({TensorSpec::create<int64_t>("data", {Dynamic})},
                TensorSpec::create<int64_t>("back", {Dynamic}));
  ServedPeer Peer(Address, echo);
  MLModelRunner Runner = open(Long, Sig).runner();
  for (size_t Size : {size_t(1) << 20, size_t(1), (size_t(1) << 20) + 3}) {
    std::vector<int64_t> Data(Size);
    std::iota(Data.begin(), Data.end(), int64_t(Size));
    Runner.populateFeatures(std::pair{"data", Data});
    auto Back = Runner.evaluate<std::vector<int64_t>>();
    ASSERT_TRUE(Back) << Back.status().toString();
    EXPECT_TRUE(*Back == Data) << Size;
  }
}

TEST_P(HealthyChannelTest, TakesManyDecisions) {
  ServedPeer Peer(Address, increment);
  Model M = open();
  {
    MLModelRunner Runner = M.runner();
    for (int64_t X = 0; X < 5000; ++X) {
      Expected<int64_t> Y = ask(Runner, X);
      ASSERT_TRUE(Y) << X << ": " << Y.status().toString();
      ASSERT_EQ(*Y, X + 1);
    }
  }
  EXPECT_EQ(M.stats().Decisions, 5000u);
  EXPECT_EQ(M.stats().Fallbacks, 0u);
}

/// Answers with all that it has seen so far: "x:context+reward", "done ...".
struct Witness {
  std::string Seen;

  void operator()(Peer &P, const Request &R) {
    Seen += (Seen.empty() ? "" : " ") + std::string(R.done() ? "done" : "") +
            (R.truncated() ? "!" : "") + std::to_string(asked(R)) + ":" +
            R.context();
    if (R.reward()) {
      char Text[32];
      std::snprintf(Text, sizeof(Text), "%+g", *R.reward());
      Seen += Text;
    }
    if (R.done())
      return;
    std::string_view View = Seen;
    (void)P.decision().setStrings(0, {&View, 1}, {});
    (void)P.reply();
  }
  static Signature signature() {
    return {{TensorSpec::create<int64_t>("x")},
            TensorSpec::create<std::string>("seen", {})};
  }
};

std::string seen(MLModelRunner &Runner, int64_t X) {
  Runner.populateFeatures(std::pair{"x", X});
  Expected<std::string> S = Runner.evaluate<std::string>();
  return S ? *S : S.status().toString();
}

TEST_P(HealthyChannelTest, TellsContextRewardAndEnd) {
  ServedPeer Peer(Address, Witness());
  {
    Model M = open(Long, Witness::signature());
    {
      MLModelRunner Runner = M.runner();
      Runner.switchContext("f");
      EXPECT_EQ(seen(Runner, 1), "1:f");
      EXPECT_TRUE(Runner.reward(0.5).ok());
      EXPECT_FALSE(Runner.reward(0.5).ok());
      EXPECT_EQ(seen(Runner, 2), "1:f 2:f+0.5");
      EXPECT_TRUE(Runner.reward(-2).ok());
      EXPECT_TRUE(Runner.endEpisode().ok());
      EXPECT_TRUE(Runner.endEpisode().ok()); // nothing is open
      EXPECT_EQ(seen(Runner, 3), "1:f 2:f+0.5 done2:f-2 3:f");
      EXPECT_TRUE(Runner.reward(7).ok());
    } // a runner that goes away ends its episode
    MLModelRunner Other = M.runner();
    EXPECT_EQ(seen(Other, 4), "1:f 2:f+0.5 done2:f-2 3:f done3:f+7 4:");
  }
  MLModelRunner Third = open(Long, Witness::signature()).runner();
  Third.switchContext("h");
  EXPECT_EQ(seen(Third, 5),
            "1:f 2:f+0.5 done2:f-2 3:f done3:f+7 4: done4: 5:h");
}

TEST_P(HealthyChannelTest, RunnersHaveTheirOwnEpisodes) {
  // The decision is the runner's number times 1000 plus the episodes it ended.
  struct Counting {
    std::map<uint32_t, int64_t> Ended;
    void operator()(Peer &P, const Request &R) {
      if (R.done())
        ++Ended[R.runner()];
      else
        decide(P, 1000 * int64_t(R.runner()) + Ended[R.runner()]);
    }
  };
  ServedPeer Peer(Address, Counting());
  Model M = open();
  MLModelRunner A = M.runner(), B = M.runner(), C = M.runner();
  int64_t FirstA = *ask(A, 0), FirstB = *ask(B, 0), FirstC = *ask(C, 0);
  EXPECT_EQ((std::set<int64_t>{FirstA, FirstB, FirstC}).size(), 3u);
  EXPECT_TRUE(B.endEpisode().ok());
  EXPECT_EQ(*ask(A, 0), FirstA);
  EXPECT_EQ(*ask(B, 0), FirstB + 1);
  EXPECT_TRUE(B.endEpisode().ok());
  EXPECT_TRUE(C.endEpisode().ok());
  EXPECT_EQ(*ask(C, 0), FirstC + 1);
  EXPECT_EQ(*ask(B, 0), FirstB + 2);
}

TEST_P(HealthyChannelTest, ThreadsTakeTurns) {
  constexpr int64_t Each = 250;
  ServedPeer Peer(Address, increment);
  Model M = open();
  std::vector<std::thread> Threads;
  for (int64_t T = 0; T < 4; ++T)
    Threads.emplace_back([&M, T] {
      MLModelRunner Runner = M.runner();
      Runner.switchContext("thread " + std::to_string(T));
      for (int64_t X = T * Each; X < (T + 1) * Each; ++X)
        ASSERT_EQ(ask(Runner, X).valueOr(-1), X + 1);
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(M.stats().Decisions, uint64_t(4 * Each));
}

TEST_P(HealthyChannelTest, APeerThatFailsIsAskedAgain) {
  ServedPeer Peer(Address, [](cbridge::Peer &P, const Request &R) {
    if (!R.done() && asked(R) < 0)
      (void)P.fail("no idea about " + std::to_string(asked(R)));
    else
      increment(P, R);
  });
  Model M = open();
  MLModelRunner Runner = M.runner();
  for (int Round = 0; Round < 3; ++Round) {
    EXPECT_EQ(*ask(Runner, 1), 2);
    Status S = ask(Runner, -5).status();
    EXPECT_EQ(S.code(), StatusCode::PeerError);
    EXPECT_NE(S.message().find("no idea about -5"), std::string::npos)
        << S.message();
    EXPECT_NE(S.message().find(Address), std::string::npos) << S.message();
    EXPECT_EQ(Runner.evaluateOr<int64_t>([] { return 99; }), 99);
    EXPECT_EQ(Runner.lastError().code(), StatusCode::PeerError);
  }
  EXPECT_TRUE(M.whyNot().ok());
  EXPECT_EQ(*ask(Runner, 1), 2);
}

TEST_P(HealthyChannelTest, APeerRefusesWhatItDoesNotExpect) {
  PeerOptions Options;
  Options.Expects = oneNumber();
  ServedPeer Peer(Address, increment, Options);
  auto X = TensorSpec::create<int64_t>("x"),
       Y = TensorSpec::create<int64_t>("y");
  struct {
    Signature Sig;
    const char *Says;
  } Cases[] = {
      {{{TensorSpec::create<float>("x")}, Y},
       "feature 'x': peer wants int64_t[1], compiler sends float[1]"},
      {{{TensorSpec::create<int64_t>("x", {2})}, Y},
       "feature 'x': peer wants int64_t[1], compiler sends int64_t[2]"},
      {{{TensorSpec::create<int64_t>("z")}, Y},
       "feature 'x': peer wants int64_t[1], compiler sends nothing"},
      {{{X}, TensorSpec::create<bool>("y")},
       "decision 'y': compiler wants bool[1], peer gives int64_t[1]"},
      {{{X}, TensorSpec::create<int64_t>("why")},
       "decision 'why': compiler wants int64_t[1], peer gives nothing"},
  };
  for (const auto &C : Cases) {
    Status Why = open(Long, C.Sig).whyNot();
    EXPECT_EQ(Why.code(), StatusCode::PeerClosed);
    EXPECT_NE(Why.message().find(C.Says), std::string::npos) << Why.message();
    auto Failed = Model::open(runnerString(Long, "&on_error=fail"), C.Sig);
    EXPECT_EQ(Failed.status().toString(), Why.toString());
  }
  expectServed();
}

TEST_P(HealthyChannelTest, ASecondPeerIsRefused) {
  ServedPeer First(Address, increment);
  for (int Try = 0; Try < 2; ++Try) {
    Expected<Peer> Second = Peer::open(Address);
    ASSERT_FALSE(Second);
    EXPECT_EQ(Second.status().code(), StatusCode::Unavailable);
    EXPECT_NE(Second.status().message().find(Address), std::string::npos)
        << Second.status().message();
  }
  expectServed();
}

TEST_P(HealthyChannelTest, ServesAsManySessionsAsItShould) {
  PeerOptions Options;
  Options.Sessions = 2;
  ServedPeer Peer(Address, increment, Options);
  expectServed();
  expectServed();
  Peer.finish();
}

TEST_P(HealthyChannelTest, ServesThousandsOfSessions) {
  // Sessions of gRPC take sanitizers ten times as long as any others.
  const int64_t Sessions = times(Sanitized && Channel.OwnFraming ? 1000 : 2000);
  ServedPeer Peer(Address, increment);
  for (int64_t X = 0; X < Sessions; ++X) {
    Model M = open();
    MLModelRunner Runner = M.runner();
    Expected<int64_t> Y = ask(Runner, X);
    ASSERT_TRUE(Y) << X << ": " << Y.status().toString();
    ASSERT_EQ(*Y, X + 1);
  }
}

TEST_P(HealthyChannelTest, AnotherCompilerWaitsNoLongerThanItsDeadline) {
  if (!Channel.OneSessionAtATime)
    GTEST_SKIP() << "sessions do not wait for each other";
  ServedPeer Peer(Address, increment);
  Model First = open();
  MLModelRunner Runner = First.runner();
  EXPECT_EQ(*ask(Runner, 1), 2);
  Stopwatch Watch;
  Status Why = open(Short).whyNot();
  EXPECT_GE(Watch.elapsed(), Short);
  EXPECT_LT(Watch.elapsed(), Short + Slack);
  EXPECT_LT(Watch.processor(), milliseconds(50));
  EXPECT_EQ(Why.code(), StatusCode::Timeout);
  EXPECT_NE(Why.message().find(Address + " is busy"), std::string::npos)
      << Why.message();
  EXPECT_EQ(*ask(Runner, 2), 3);
}

TEST_P(HealthyChannelTest, AnotherCompilerGetsItsTurn) {
  ServedPeer Peer(Address, increment);
  auto First = std::make_unique<Model>(open());
  std::thread Second([this] { expectServed(); });
  {
    MLModelRunner Runner = First->runner();
    for (int64_t X = 0; X < 100; ++X)
      EXPECT_EQ(ask(Runner, X).valueOr(-1), X + 1);
  }
  First.reset();
  Second.join();
}

TEST_P(HealthyChannelTest, ClosingLeavesThePeerReady) {
  // Without runners, with runners that never asked, and model before runner.
  ServedPeer Peer(Address, increment);
  EXPECT_TRUE(open().whyNot().ok());
  {
    Model M = open();
    MLModelRunner Idle = M.runner(), AlsoIdle = M.runner();
  }
  auto M = std::make_unique<Model>(open());
  MLModelRunner Runner = M->runner();
  M.reset();
  EXPECT_EQ(*ask(Runner, 1), 2);
}

} // namespace
