//===- ShmTest.cpp - Tests of a session with a hostile other end ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/shm/ShmTest.h"

#include <atomic>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>

using namespace cbridge;
using namespace cbridge::shm;

namespace {

/// The real end is the peer, or the compiler.
class ShmTest : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override { FilesBefore = openFiles(); }
  void TearDown() override { EXPECT_EQ(openFiles(), FilesBefore); }

  static bool realIsPeer() { return GetParam(); }
  /// Says hello, if that is the real end's part.
  static void begin(Pair &P) {
    if (realIsPeer())
      return;
    ASSERT_TRUE(P.send(FrameKind::Hello, "hello").ok());
    ASSERT_TRUE(P.Other->takeGreeting());
  }
  static FrameKind otherGreets() {
    return realIsPeer() ? FrameKind::Hello : FrameKind::Welcome;
  }
  /// What the real end says to a greeting with File.
  static Status answerTo(os::File File) {
    Pair P;
    begin(P);
    int Number = File.get();
    EXPECT_TRUE(
        P.Other->greet(otherGreets(), "hi", {&Number, Number < 0 ? 0u : 1u}));
    return P.Real->receive(soon()).status();
  }
  static void expectRefused(const Status &S, std::string_view Says,
                            StatusCode Code = StatusCode::Protocol) {
    EXPECT_EQ(S.code(), Code) << S.toString();
    EXPECT_NE(S.message().find(Says), std::string::npos) << S.message();
    EXPECT_NE(S.message().find("the other end"), std::string::npos)
        << S.message();
  }

private:
  size_t FilesBefore = 0;
};
INSTANTIATE_TEST_SUITE_P(Roles, ShmTest, ::testing::Bool(),
                         [](const auto &Info) {
                           return Info.param ? "Peer" : "Compiler";
                         });

os::File memoryFile(size_t Size, int Seals, unsigned Flags = 0) {
  os::File F(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | Flags));
  if (F && (::ftruncate(F.get(), off_t(Size)) != 0 ||
            ::fcntl(F.get(), F_ADD_SEALS, Seals) != 0))
    F.close();
  return F;
}

constexpr int Sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

TEST_P(ShmTest, RefusesAGreetingWithoutItsSegment) {
  expectRefused(answerTo({}), "sends no segment");
  expectRefused(answerTo(os::File(::open("/dev/null", O_RDWR | O_CLOEXEC))),
                "no memory file");
  char Name[] = "/tmp/cbridge-test-XXXXXX";
  os::File OnDisk(::mkstemp(Name));
  ::unlink(Name);
  expectRefused(answerTo(std::move(OnDisk)), "");
  int Ends[2];
  ASSERT_EQ(::pipe2(Ends, O_CLOEXEC), 0);
  os::File Write(Ends[1]);
  expectRefused(answerTo(os::File(Ends[0])), "no memory file");
}

TEST_P(ShmTest, RefusesASegmentThatCouldShrink) {
  expectRefused(answerTo(memoryFile(1 << 20, F_SEAL_GROW)), "not sealed");
  expectRefused(answerTo(memoryFile(1 << 20, 0)), "not sealed");
}

TEST_P(ShmTest, RefusesASegmentThatIsTooSmall) {
  expectRefused(answerTo(memoryFile(0, Sealed)), "0 bytes");
  expectRefused(answerTo(memoryFile(SlotsEnd - 1, Sealed)), "are needed");
  EXPECT_TRUE(answerTo(memoryFile(SlotsEnd, Sealed)).ok());
}

TEST_P(ShmTest, RefusesHugePages) {
  // Without any in reserve, reading such memory is fatal.
  os::File Huge = memoryFile(size_t(2) << 20, Sealed, MFD_HUGETLB);
  if (!Huge)
    GTEST_SKIP() << "no huge pages in this kernel";
  expectRefused(answerTo(std::move(Huge)), "no memory file");
}

TEST_P(ShmTest, RefusesASegmentLargerThanAnyOfOurs) {
  expectRefused(answerTo(memoryFile(size_t(1) << 45, Sealed)), "");
}

TEST_P(ShmTest, TakesTheFirstOfSeveralFiles) {
  Pair P;
  begin(P);
  int First = P.Other->Ours->file();
  int Many[] = {First, First, First, First, First, First, First, First};
  EXPECT_TRUE(P.Other->greet(otherGreets(), "hi", Many));
  EXPECT_TRUE(P.Real->receive(soon()));
}

TEST_P(ShmTest, ReadsMemoryThatIsNotThere) {
  // A sparse segment reads as zeros.
  Pair P;
  P.greet(realIsPeer());
  Slot &S = P.Other->describe(header(FrameKind::Context));
  put(header(FrameKind::Context, 65536), S);
  S.Pieces[0] = {SlotsEnd + 65536, 65536};
  S.PieceCount = 1;
  P.Other->publish();
  Expected<Frame> F = P.Real->receive(soon());
  ASSERT_TRUE(F) << F.status().toString();
  EXPECT_EQ(std::count(F->Payload.begin(), F->Payload.end(), 0), 65536);
}

/// A way to spoil a slot.
struct BadSlot {
  const char *Says;
  void (*Spoil)(Slot &);
};

const BadSlot BadSlots[] = {
    {"no frame", [](Slot &S) { S.Header[0] ^= 1; }},
    {"", [](Slot &S) { S.Header[4] ^= 1; }},
    {"", [](Slot &S) { S.Header[8] = 64; }},
    {"announces 1048577 bytes",
     [](Slot &S) { put(header(FrameKind::Context, (1 << 20) + 1), S); }},
    {"3073 bytes", [](Slot &S) { S.InlineSize = Slot::MaxInline + 1; }},
    {"bytes and 0 pieces", [](Slot &S) { S.InlineSize = ~0u; }},
    {"61 pieces", [](Slot &S) { S.PieceCount = Slot::MaxPieces + 1; }},
    {"pieces", [](Slot &S) { S.PieceCount = ~0u; }},
    {"announces 2 bytes and sends 1", [](Slot &S) { S.InlineSize = 1; }},
    {"announces 2 bytes and sends 3", [](Slot &S) { S.InlineSize = 3; }},
    {"a piece of 64 bytes at 1048576",
     [](Slot &S) {
       S.Pieces[0] = {HandMade::Size, 64};
       S.PieceCount = 1;
     }},
    {"a piece of",
     [](Slot &S) {
       S.Pieces[0] = {HandMade::Size - 64, 65};
       S.PieceCount = 1;
     }},
    {"a piece of",
     [](Slot &S) {
       S.Pieces[0] = {~uint64_t(0) - 63, 128};
       S.PieceCount = 1;
     }},
    {"a piece of",
     [](Slot &S) {
       S.Pieces[0] = {SlotsEnd, ~uint64_t(0) - 1};
       S.PieceCount = 1;
     }},
    {"a piece of 64 bytes at 36872",
     [](Slot &S) {
       S.Pieces[0] = {SlotsEnd + 8, 64};
       S.PieceCount = 1;
     }},
    // Sizes whose sum is right only if it overflows.
    {"",
     [](Slot &S) {
       S.InlineSize = 0;
       for (auto &Piece : S.Pieces)
         Piece = {0, uint64_t(1) << 58};
       S.PieceCount = Slot::MaxPieces;
     }},
};

TEST_P(ShmTest, RefusesBadSlots) {
  for (const BadSlot &Bad : BadSlots) {
    Pair P;
    P.greet(realIsPeer());
    for (int Good = 0; Good < 9; ++Good) {
      P.Other->describe(header(FrameKind::Context), "ok");
      P.Other->publish();
      ASSERT_TRUE(P.Real->receive(soon()));
    }
    Bad.Spoil(P.Other->describe(header(FrameKind::Context), "ok"));
    P.Other->publish();
    expectRefused(P.Real->receive(soon()).status(), Bad.Says);
  }
}

TEST_P(ShmTest, TakesAFullRing) {
  Pair P;
  P.greet(realIsPeer());
  for (size_t I = 0; I < SlotCount; ++I) {
    P.Other->describe(header(FrameKind::Context), std::string(I, 'x'));
    P.Other->publish();
  }
  for (size_t I = 0; I < SlotCount; ++I) {
    Expected<Frame> F = P.Real->receive(soon());
    ASSERT_TRUE(F) << F.status().toString();
    EXPECT_EQ(F->Payload.size(), I);
  }
}

TEST_P(ShmTest, DoesNotSendToWhoTakesMoreThanThereIs) {
  for (uint64_t Claim : {uint64_t(9), uint64_t(1000), ~uint64_t(0)}) {
    Pair P;
    P.greet(realIsPeer());
    P.Other->control().Consumed.store(Claim);
    for (size_t I = 0; I < SlotCount; ++I) // it is asked when there is no room
      ASSERT_TRUE(P.send(FrameKind::Context, "x").ok());
    expectRefused(P.send(FrameKind::Context, "x"), "took frames");
  }
}

TEST_P(ShmTest, SendingToWhoTakesNothingTimesOut) {
  Pair P;
  P.greet(realIsPeer());
  for (size_t I = 0; I < SlotCount; ++I)
    ASSERT_TRUE(P.send(FrameKind::Context, "x").ok());
  Stopwatch Watch;
  // A compiler that asks again has taken its answer, so a peer never waits.
  expectRefused(P.send(FrameKind::Context, "x", Deadline::in(Short)),
                "does not take",
                realIsPeer() ? StatusCode::Protocol : StatusCode::Timeout);
  EXPECT_GE(Watch.elapsed(),
            realIsPeer() ? milliseconds(0) : Short - milliseconds(1));
  EXPECT_LT(Watch.elapsed(), Short + Slack);
  EXPECT_LT(Watch.processor(), milliseconds(30));
  // Backwards: as if nothing had ever been taken.
  P.Other->control().Consumed.store(1);
  ASSERT_TRUE(P.send(FrameKind::Context, "x").ok());
  P.Other->control().Consumed.store(0);
  expectRefused(P.send(FrameKind::Context, "x"), "took frames");
}

TEST_P(ShmTest, WaitsForTheRightTurn) {
  for (uint64_t Turn :
       {uint64_t(9), uint64_t(1000), uint64_t(0), uint64_t(1), ~uint64_t(0)}) {
    Pair P;
    P.greet(realIsPeer());
    for (int Good = 0; Good < 9; ++Good) {
      P.Other->describe(header(FrameKind::Context), "ok");
      P.Other->publish();
      ASSERT_TRUE(P.Real->receive(soon()));
    }
    P.Other->describe(header(FrameKind::Context), "ok").Turn.store(Turn);
    os::wakeOther(P.Other->Socket.get());
    EXPECT_EQ(P.Real->receive(Deadline::in(milliseconds(2))).status().code(),
              StatusCode::Timeout);
  }
}

TEST_P(ShmTest, LargeMessagesWaitForEachOther) {
  Pair P;
  P.greet(realIsPeer());
  std::string Large(100'000, 'x');
  ASSERT_TRUE(P.send(FrameKind::Context, Large).ok());
  EXPECT_EQ(P.send(FrameKind::Context, Large, Deadline::in(Short)).code(),
            realIsPeer() ? StatusCode::Protocol : StatusCode::Timeout);
  ASSERT_TRUE(P.send(FrameKind::Context, "small").ok());
  ASSERT_TRUE(P.Other->take());
  EXPECT_TRUE(P.send(FrameKind::Context, Large).ok());
}

TEST_P(ShmTest, AFloodOfWakesDoesNotProlongAWait) {
  Pair P;
  P.greet(realIsPeer());
  std::atomic<bool> Stop{false};
  std::vector<std::thread> Flood;
  for (int I = 0; I < 2; ++I)
    Flood.emplace_back([&] {
      char Many[32768] = {};
      while (!Stop)
        (void)!::send(P.Other->Socket.get(), Many, sizeof(Many),
                      MSG_DONTWAIT | MSG_NOSIGNAL);
    });
  for (int Round = 0; Round < 3; ++Round) {
    Stopwatch Watch;
    EXPECT_EQ(P.Real->receive(Deadline::in(Short)).status().code(),
              StatusCode::Timeout);
    EXPECT_LT(Watch.elapsed(), Short + Slack);
  }
  P.Other->describe(header(FrameKind::Context), "ok");
  P.Other->slot(0).Turn.store(1);
  EXPECT_TRUE(P.Real->receive(soon()));
  Stop = true;
  for (std::thread &T : Flood)
    T.join();
}

TEST_P(ShmTest, TheSocketClosesAtEveryStep) {
  const std::function<void(Pair &)> Steps[] = {
      [](Pair &) {},
      [](Pair &P) { begin(P); },
      [](Pair &P) {
        begin(P);
        ASSERT_TRUE(P.Other->greet(otherGreets(), "", {}));
      },
      [](Pair &P) { P.greet(realIsPeer()); },
      [](Pair &P) {
        P.greet(realIsPeer());
        ASSERT_TRUE(P.send(FrameKind::Context, "x").ok());
      },
      [](Pair &P) {
        P.greet(realIsPeer());
        for (size_t I = 0; I < SlotCount; ++I)
          ASSERT_TRUE(P.send(FrameKind::Context, "x").ok());
      },
  };
  for (const auto &Step : Steps) {
    Pair P;
    Step(P);
    P.Other->Socket.close();
    Stopwatch Watch;
    Status S = P.Real->receive(soon()).status();
    EXPECT_TRUE(S.isTransport()) << S.toString();
    (void)P.send(FrameKind::Bye, "");
    EXPECT_LT(Watch.elapsed(), Slack);
  }
  // What was said before it died counts.
  Pair P;
  P.greet(realIsPeer());
  P.Other->describe(header(FrameKind::Context), "last");
  P.Other->publish();
  P.Other->Socket.close();
  Expected<Frame> F = P.Real->receive(soon());
  ASSERT_TRUE(F) << F.status().toString();
  EXPECT_EQ(asText(F->Payload), "last");
  EXPECT_EQ(P.Real->receive(soon()).status().code(), StatusCode::PeerClosed);
}

TEST_P(ShmTest, LengthsMayChangeWhileTheyAreRead) {
  Pair P;
  P.greet(realIsPeer());
  P.Real->lendPayloads();
  std::atomic<bool> Stop{false};
  auto Header = header(FrameKind::Request, 128);
  std::thread Changing([&] {
    std::mt19937_64 Random(7);
    const uint64_t Sizes[] = {0, 64, 128, 3072, 3073, ~uint64_t(0), 1 << 20};
    auto Any = [&] { return Sizes[Random() % std::size(Sizes)]; };
    while (!Stop) {
      Slot &S = P.Other->slot(Random());
      FrameHeader H = Header;
      H.Length = Random() % 2 ? 128 : Any();
      put(H, S);
      *const_cast<volatile uint32_t *>(&S.InlineSize) = uint32_t(Any());
      *const_cast<volatile uint32_t *>(&S.PieceCount) = Random() % 4;
      *const_cast<volatile uint64_t *>(&S.Pieces[Random() % 2].Offset) = Any();
      *const_cast<volatile uint64_t *>(&S.Pieces[Random() % 2].Size) = Any();
    }
  });
  size_t Good = 0, Bad = 0;
  Deadline Enough = Deadline::in(seconds(1)), Most = soon();
  while (!Enough.passed() || (!(Good && Bad) && !Most.passed())) {
    P.Other->slot(Good).Turn.store(Good + 1);
    Expected<Frame> F = P.Real->receive(soon());
    if (!F) {
      ++Bad;
      continue;
    }
    ++Good;
    size_t Size = F->Payload.size();
    unsigned Sum = 0;
    for (unsigned char Byte : F->Payload)
      Sum += Byte;
    for (Bytes Piece : F->Lent) {
      Size += Piece.size();
      if (!Piece.empty())
        Sum += Piece[0] + Piece[Piece.size() - 1];
    }
    ASSERT_EQ(Size, F->Header.Length) << Sum;
  }
  Stop = true;
  Changing.join();
  EXPECT_GT(Good, 0u);
  EXPECT_GT(Bad, 0u);
}

} // namespace
