//===- ShmTest.h - An end of a session by hand ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SHM_SHMTEST_H
#define CBRIDGE_CHANNEL_SHM_SHMTEST_H

#include "channel/Handshake.h"
#include "channel/shm/ShmChannel.h"
#include "os/Socket.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cbridge::shm {

using std::chrono::milliseconds;
using std::chrono::seconds;

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CBRIDGE_SANITIZED 1
#endif
#endif
#ifdef CBRIDGE_SANITIZED
constexpr bool Sanitized = true;
#else
constexpr bool Sanitized = false;
#endif

/// How much later than its deadline a wait may end.
constexpr milliseconds Slack(Sanitized ? 1500 : 100);
constexpr milliseconds Short(100);
inline Deadline soon() { return Deadline::in(seconds(30)); }

inline size_t openFiles() {
  std::filesystem::directory_iterator All("/proc/self/fd");
  return size_t(std::distance(begin(All), end(All)));
}

/// Processor time of this thread, or of the whole process.
inline milliseconds processorTime(int Who = RUSAGE_THREAD) {
  rusage Usage = {};
  ::getrusage(Who, &Usage);
  return milliseconds((Usage.ru_utime.tv_sec + Usage.ru_stime.tv_sec) * 1000 +
                      (Usage.ru_utime.tv_usec + Usage.ru_stime.tv_usec) / 1000);
}

/// Wall-clock and processor time since it was made.
struct Stopwatch {
  Deadline::Clock::time_point Start = Deadline::Clock::now();
  milliseconds StartProcessor = processorTime();

  milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(Deadline::Clock::now() -
                                                    Start);
  }
  milliseconds processor() const { return processorTime() - StartProcessor; }
};

/// Feature x, decision y: both int64_t[1].
inline Signature oneNumber() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

inline FrameHeader header(FrameKind Kind, uint64_t Length = 0) {
  FrameHeader H;
  H.Kind = Kind;
  H.Session = 4711;
  H.Runner = 1;
  H.Length = Length;
  return H;
}

/// Writes a header as it lies in a slot.
inline void put(const FrameHeader &H, Slot &To) {
  unsigned char Encoded[FrameHeader::Size];
  H.encode(Encoded);
  std::memcpy(To.Header, Encoded, Slot::HeaderSize);
}

/// One end, of which the test writes every byte; see docs/formats/shm.md.
struct HandMade {
  os::File Socket;
  std::shared_ptr<os::SharedMemory> Ours, Theirs;
  uint64_t Published = 0, Taken = 0;
  static constexpr size_t Size = size_t(1) << 20;

  explicit HandMade(os::File Connected) : Socket(std::move(Connected)) {
    Ours = *os::SharedMemory::create(Size);
    new (Ours->data()) shm::Control();
  }
  Control &control() const {
    return *reinterpret_cast<Control *>(Ours->data());
  }
  static Slot &slot(const std::shared_ptr<os::SharedMemory> &Of,
                    uint64_t Index) {
    return reinterpret_cast<Slot *>(Of->data() + SlotsAt)[Index % SlotCount];
  }
  Slot &slot(uint64_t Index) const { return slot(Ours, Index); }

  /// A frame on the socket, with these files.
  bool greet(FrameKind Kind, std::string_view Text, Span<const int> Files) {
    unsigned char Head[FrameHeader::Size];
    header(Kind, Text.size()).encode(Head);
    Bytes Both[] = {
        Head,
        {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()}};
    os::Transfer T = os::sendSome(Socket.get(), Both, Files);
    return T.Kind == os::Transfer::Done && T.Size == sizeof(Head) + Text.size();
  }
  bool greet(FrameKind Kind, std::string_view Text) {
    int File = Ours->file();
    return greet(Kind, Text, {&File, 1});
  }
  /// Takes a greeting and the segment that came with it.
  bool takeGreeting(Deadline Until = soon()) {
    unsigned char Part[65536];
    std::vector<os::File> Came;
    while (os::waitReadable(Socket.get(), Until) == os::Ready::Yes) {
      os::Transfer T = os::receiveSome(Socket.get(), Part, Came, 1);
      if (T.Kind != os::Transfer::Done)
        return false;
      if (Came.empty())
        continue; // a failure
      auto Opened = os::SharedMemory::open(std::move(Came[0]), SlotsEnd);
      if (Opened)
        Theirs = std::move(*Opened);
      return Opened.ok();
    }
    return false;
  }
  /// Puts a frame with an inline payload into the next slot.
  Slot &describe(FrameHeader H, std::string_view Inline = "") {
    Slot &S = slot(Published);
    H.Length = Inline.size();
    put(H, S);
    S.InlineSize = uint32_t(Inline.size());
    S.PieceCount = 0;
    std::memcpy(S.Inline, Inline.data(), Inline.size());
    return S;
  }
  void publish() {
    slot(Published).Turn.store(Published + 1);
    ++Published;
    os::wakeOther(Socket.get());
  }
  /// The header of the next frame, or nothing.
  std::optional<FrameHeader> take(Deadline Until = soon()) {
    os::Backoff Pause;
    const Slot &S = slot(Theirs, Taken);
    while (S.Turn.load() != Taken + 1)
      if (!Pause.pause(Until))
        return std::nullopt;
    unsigned char Head[FrameHeader::Size] = {};
    std::memcpy(Head, S.Header, Slot::HeaderSize);
    Expected<FrameHeader> H = FrameHeader::decode(Head);
    control().Consumed.store(++Taken);
    return H ? std::optional(*H) : std::nullopt;
  }
};

/// A real end and a hand-made one, connected.
struct Pair {
  std::unique_ptr<ShmChannel> Real;
  std::optional<HandMade> Other;

  explicit Pair(size_t MaxMessage = size_t(1) << 20) {
    int Ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                           0, Ends),
              0);
    Real = std::make_unique<ShmChannel>("the other end", os::File(Ends[0]),
                                        MaxMessage);
    Other.emplace(os::File(Ends[1]));
  }
  Status send(FrameKind Kind, std::string_view Text, Deadline Until = soon()) {
    Message M;
    if (Status S = setText(M, Text); !S)
      return S;
    return Real->send(header(Kind), M, Until);
  }
  /// Both have greeted, the real end as the peer or as the compiler.
  void greet(bool RealIsPeer) {
    if (RealIsPeer) {
      ASSERT_TRUE(Other->greet(FrameKind::Hello, "hello"));
      ASSERT_TRUE(Real->receive(soon()));
      ASSERT_TRUE(send(FrameKind::Welcome, "welcome").ok());
      ASSERT_TRUE(Other->takeGreeting());
    } else {
      ASSERT_TRUE(send(FrameKind::Hello, "hello").ok());
      ASSERT_TRUE(Other->takeGreeting());
      ASSERT_TRUE(Other->greet(FrameKind::Welcome, "welcome"));
      ASSERT_TRUE(Real->receive(soon()));
    }
  }
};

} // namespace cbridge::shm

#endif // CBRIDGE_CHANNEL_SHM_SHMTEST_H
