//===- ShmPeerTest.cpp - Tests of a peer with many compilers --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/shm/Shm.h"
#include "channel/shm/ShmServed.h"

#include <fstream>
#include <mutex>
#include <random>

#include <sys/stat.h>

using namespace cbridge;
using namespace cbridge::shm;

namespace {

using ShmPeerTest = ShmFixture;

TEST_F(ShmPeerTest, SilentConnectionsKeepNobodyWaiting) {
  start();
  expectServed();
  std::vector<os::File> Silent;
  for (int I = 0; I < 300; ++I)
    Silent.push_back(connect());
  expectServed();
}

TEST_F(ShmPeerTest, HalfAHelloKeepsNobodyWaiting) {
  start();
  std::vector<os::File> Half;
  unsigned char Head[FrameHeader::Size];
  header(FrameKind::Hello, 1000).encode(Head);
  for (size_t Size : {1, 32, 63, 64})
    for (int I = 0; I < 10; ++I) {
      Half.push_back(connect());
      Bytes Part(Head, Size);
      EXPECT_EQ(os::sendSome(Half.back().get(), {&Part, 1}, {}).Size, Size);
    }
  expectServed();
  Half.clear();
  expectServed();
}

TEST_F(ShmPeerTest, AFloodOfWakesKeepsNobodyWaiting) {
  start();
  std::unique_ptr<HandMade> Bad = greeted();
  std::atomic<bool> Stop{false};
  std::thread Flood([&] {
    char Many[32768] = {};
    while (!Stop)
      (void)!::send(Bad->Socket.get(), Many, sizeof(Many),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
  });
  for (int Round = 0; Round < 5; ++Round)
    expectServed();
  Stop = true;
  Flood.join();
}

TEST_F(ShmPeerTest, AFloodOfConnectionsKeepsNobodyWaiting) {
  start();
  Model M = open();
  MLModelRunner R = M.runner();
  std::atomic<bool> Stop{false};
  std::thread Flood([&] {
    while (!Stop) {
      int Errno;
      if (Expected<os::File> Made = os::connectUnix(Path, &Errno)) {
        Bytes One(reinterpret_cast<const unsigned char *>("C"), 1);
        (void)os::sendSome(Made->get(), {&One, 1}, {});
      }
    }
  });
  for (int64_t X = 0; X < 200; ++X) {
    Stopwatch Watch;
    EXPECT_EQ(ask(R, X).valueOr(-1), X + 1) << M.whyNot().toString();
    EXPECT_LT(Watch.elapsed(), Slack * 5);
  }
  Stop = true;
  Flood.join();
}

TEST_F(ShmPeerTest, BadFramesEndOnlyTheirOwnSession) {
  start();
  Model M = open();
  MLModelRunner R = M.runner();
  for (int I = 0; I < 20; ++I) {
    std::unique_ptr<HandMade> Bad = greeted();
    Bad->describe(header(FrameKind::Request), "short").InlineSize += I % 2;
    Bad->publish();
    EXPECT_EQ(ask(R, I).valueOr(-1), I + 1);
    // It is told why, and then left alone.
    std::optional<FrameHeader> Answer = Bad->take();
    ASSERT_TRUE(Answer);
    EXPECT_EQ(Answer->Kind, FrameKind::Failure);
  }
  EXPECT_EQ(Errors, 20);
}

TEST_F(ShmPeerTest, EveryRunnerHasItsOwnSession) {
  start();
  Model M = open();
  std::vector<std::thread> Threads;
  for (int64_t T = 0; T < 16; ++T)
    Threads.emplace_back([&M, T] {
      MLModelRunner R = M.runner();
      for (int64_t X = T * 1000; X < T * 1000 + 200; ++X)
        ASSERT_EQ(ask(R, X).valueOr(-1), X + 1);
    });
  for (std::thread &T : Threads)
    T.join();
}

/// The line of /proc/self/maps that Address is in.
std::string mappingOf(const void *Address) {
  std::ifstream Maps("/proc/self/maps");
  for (std::string Line; std::getline(Maps, Line);) {
    unsigned long First = 0, Last = 0;
    if (std::sscanf(Line.c_str(), "%lx-%lx", &First, &Last) == 2 &&
        reinterpret_cast<uintptr_t>(Address) >= First &&
        reinterpret_cast<uintptr_t>(Address) < Last)
      return Line;
  }
  return "";
}

TEST_F(ShmPeerTest, FeaturesLieInTheSegmentAndStayThere) {
  Signature Sig({TensorSpec::create<int64_t>("x"),
                 TensorSpec::create<uint8_t>("grows", {Dynamic})},
                TensorSpec::create<int64_t>("y"));
  start();
  MLModelRunner R = open(Sig).runner();
  int64_t *X = R.getTensor<int64_t>(0).data();
  EXPECT_NE(mappingOf(X).find("memfd:compiler-bridge"), std::string::npos);
  EXPECT_NE(mappingOf(X).find("rw-s"), std::string::npos);
  unsigned char *Grows = nullptr;
  for (int64_t Size : {1, 5000, 1'000'000, 100'000'000}) {
    R.resize(1, {Size});
    Span<uint8_t> Now = R.getTensor<uint8_t>(1);
    ASSERT_EQ(Now.size(), size_t(Size));
    EXPECT_TRUE(!Grows || Now.data() == Grows);
    Grows = Now.data();
    Now[Now.size() - 1] = 1;
    EXPECT_NE(mappingOf(&Now[Now.size() - 1]).find("memfd:compiler-bridge"),
              std::string::npos);
    EXPECT_EQ(R.getTensor<int64_t>(0).data(), X);
    *X = Size;
    EXPECT_EQ(R.evaluate<int64_t>().valueOr(-1), Size + 1);
  }
}

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

TEST_F(ShmPeerTest, CarriesThousandsOfStrings) {
  std::vector<TensorSpec> Specs;
  for (int I = 0; I < 4096; ++I)
    Specs.push_back(
        TensorSpec::create<std::string>("s" + std::to_string(I), {Dynamic}));
  for (bool Lend : {false, true}) {
    PeerOptions Options;
    Options.Lend = Lend;
    start(echo, Options);
    {
      Model M = open({Specs, Specs});
      MLModelRunner R = M.runner();
      for (int Round = 0; Round < 3; ++Round) {
        std::string Text =
            std::to_string(Round) + std::string(size_t(Round) * 50, '.');
        for (int I = 0; I < 4096; I += 7)
          R.populateFeatures(
              std::pair{Specs[size_t(I)].name(), std::vector{Text, Text}});
        Expected<Decision> D = R.evaluate();
        ASSERT_TRUE(D) << Lend << D.status().toString();
        for (size_t I = 0; I < 4096; ++I)
          ASSERT_EQ(D->tensor(I).elementCount(), I % 7 ? 0u : 2u);
        ASSERT_EQ(D->tensor(7).string(1), Text);
      }
    }
    stop();
  }
}

TEST_F(ShmPeerTest, LendingLosesNothing) {
  // Contexts and features that do not fit into a slot.
  std::mutex Seeing; // of which a sanitizer knows, unlike of shared memory
  std::string Seen;
  PeerOptions Options;
  Options.Lend = true;
  start(
      [&](Peer &P, const Request &R) {
        if (!R.done()) {
          std::lock_guard<std::mutex> Lock(Seeing);
          Seen = R.context();
        }
        increment(P, R);
      },
      Options);
  std::vector<TensorSpec> Features = {TensorSpec::create<int64_t>("x")};
  for (int I = 0; I < 100; ++I)
    Features.push_back(
        TensorSpec::create<float>("f" + std::to_string(I), {Dynamic}));
  Model M = open({Features, TensorSpec::create<int64_t>("y")});
  MLModelRunner R = M.runner();
  for (size_t Length : {10, 3000, 100'000, 20}) {
    std::string Context(Length, 'c');
    R.switchContext(Context);
    for (size_t I = 1; I < Features.size(); ++I)
      R.resize(I, {int64_t(Length) % 31 + 1});
    ASSERT_EQ(ask(R, 5).valueOr(-1), 6) << M.whyNot().toString();
    std::lock_guard<std::mutex> Lock(Seeing);
    EXPECT_EQ(Seen, Context);
  }
}

TEST_F(ShmPeerTest, LentStringsAndBoolsMayChange) {
  PeerOptions Options;
  Options.Lend = true;
  Signature Sig({TensorSpec::create<std::string>("s", {Dynamic}),
                 TensorSpec::create<bool>("b", {64})},
                TensorSpec::create<int64_t>("y"));
  std::atomic<size_t> Answered{0};
  start(
      [&](Peer &P, const Request &R) {
        if (R.done())
          return;
        TensorView S = R.feature(0), B = R.feature(1);
        size_t Sum = 0;
        for (size_t I = 0; I < S.elementCount(); ++I)
          for (char C : S.string(I))
            Sum += size_t(C);
        for (unsigned char Byte : B.Data)
          Sum += Byte > 1 ? 1'000'000'000 : 0;
        EXPECT_LT(Sum, 1'000'000'000u);
        ++Answered;
        (void)P.reply();
      },
      Options);
  std::mt19937_64 Random(3);
  Deadline Until = Deadline::in(seconds(Sanitized ? 4 : 2));
  while (!Until.passed()) {
    std::unique_ptr<HandMade> Bad = greeted(Sig);
    // Three strings of 8 characters: four offsets, and those.
    unsigned char *At = Bad->Ours->data() + SlotsEnd + 4096;
    auto *Offsets = reinterpret_cast<uint64_t *>(At);
    for (uint64_t I = 0; I < 4; ++I)
      Offsets[I] = I * 8;
    std::atomic<bool> Stop{false};
    std::thread Changing([&, Seed = Random()] {
      std::mt19937_64 Own(Seed);
      while (!Stop) {
        uint64_t I = 1 + Own() % 2;
        auto *Word = const_cast<volatile uint64_t *>(&Offsets[I]);
        *Word = ~uint64_t(0) / 2;
        *const_cast<volatile unsigned char *>(At + 64 + Own() % 64) = 255;
        *Word = I * 8;
        for (int B = 0; B < 64; ++B)
          const_cast<volatile unsigned char *>(At)[64 + B] = 0;
        for (unsigned Pause = Own() % 2000; Pause; --Pause)
          os::relax();
      }
    });
    FrameHeader H = header(FrameKind::Request, 192);
    for (int Request = 0; Request < 50; ++Request) {
      // The extent and the size of the strings; then both tensors.
      Slot &S = Bad->describe(H);
      H.Sequence = uint64_t(Request) + 1;
      H.Length = 192;
      put(H, S);
      uint64_t Shape[8] = {3, 4 * 8 + 24};
      std::memcpy(S.Inline, Shape, sizeof(Shape));
      S.InlineSize = sizeof(Shape);
      S.Pieces[0] = {SlotsEnd + 4096, 128};
      S.PieceCount = 1;
      Bad->publish();
      std::optional<FrameHeader> Answer = Bad->take();
      if (!Answer || Answer->Kind != FrameKind::Reply)
        break;
    }
    Stop = true;
    Changing.join();
  }
  EXPECT_GT(Answered, 10u);
}

TEST_F(ShmPeerTest, IdleEndsSleep) {
  start();
  Model M = open();
  MLModelRunner R = M.runner();
  ASSERT_EQ(ask(R, 1).valueOr(-1), 2);
  // Half a second in which nothing happens is what is measured.
  std::this_thread::sleep_for(milliseconds(500));
  stop();
  EXPECT_LT(Processor.load(), milliseconds(Sanitized ? 200 : 50));
}

TEST_F(ShmPeerTest, AWaitingCompilerSleeps) {
  start([](Peer &P, const Request &R) {
    if (!R.done()) // a slow model: the compiler's time meanwhile is measured
      std::this_thread::sleep_for(milliseconds(300));
    increment(P, R);
  });
  Model M = open();
  MLModelRunner R = M.runner();
  Stopwatch Watch;
  ASSERT_EQ(ask(R, 1).valueOr(-1), 2);
  EXPECT_GE(Watch.elapsed(), milliseconds(300));
  EXPECT_LT(Watch.processor(), milliseconds(Sanitized ? 60 : 20));
}

TEST_F(ShmPeerTest, ServesAtALongPath) {
  std::string Deep = Folder + "/" + std::string(100, 'd');
  ASSERT_TRUE(std::filesystem::create_directory(Deep));
  std::string Address = "shm:" + Deep + "/peer";
  {
    Expected<Peer> P = Peer::open(Address);
    ASSERT_TRUE(P) << P.status().toString();
    std::thread Answering([&] {
      for (int Events = 0; Events < 2; ++Events)
        if (auto R = P->next(soon()))
          increment(*P, **R);
    });
    MLModelRunner R = Model::open(Address, oneNumber())->runner();
    EXPECT_EQ(ask(R, 1).valueOr(-1), 2);
    EXPECT_TRUE(R.endEpisode().ok());
    Answering.join();
  }
  // A name that no address can hold, and a directory that is not there.
  EXPECT_EQ(
      Peer::open("shm:" + Deep + "/" + std::string(108, 'n')).status().code(),
      StatusCode::InvalidArgument);
  EXPECT_FALSE(Peer::open("shm:" + Deep + "/none/peer"));
  EXPECT_EQ(
      Model::open("shm:" + Deep + "/none/peer", oneNumber())->whyNot().code(),
      StatusCode::Unavailable);
  std::filesystem::remove_all(Deep);
}

TEST_F(ShmPeerTest, NamesAreInAPrivateDirectory) {
  std::string Own = Folder + "/own";
  ::setenv("CBRIDGE_RUNTIME_DIR", Own.c_str(), 1);
  Expected<std::string> At = socketPath("name");
  ASSERT_TRUE(At) << At.status().toString();
  EXPECT_EQ(*At, Own + "/name");
  EXPECT_EQ(std::filesystem::status(Own).permissions(),
            std::filesystem::perms::owner_all);
  EXPECT_EQ(*socketPath("./name"), "./name");
  {
    Peer P = *Peer::open("shm:name");
    struct stat Info;
    ASSERT_EQ(::stat(At->c_str(), &Info), 0);
    EXPECT_EQ(Info.st_mode & 0777, 0600u);
  }
  ::chmod(Own.c_str(), 0750);
  EXPECT_NE(socketPath("name").status().message().find("not a private"),
            std::string::npos);
  EXPECT_FALSE(Peer::open("shm:name"));
  Model M = *Model::open("shm:name", oneNumber());
  EXPECT_FALSE(M.whyNot().ok());
  ::rmdir(Own.c_str());
  ASSERT_EQ(::symlink("/tmp", Own.c_str()), 0);
  EXPECT_FALSE(socketPath("name"));
  ::unlink(Own.c_str());
  ::unsetenv("CBRIDGE_RUNTIME_DIR");
}

} // namespace
