//===- ShmFuzzer.cpp - Fuzzes an end of shared memory ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plays the other end of a session. The first byte tells which end that is, and
// whether the rest is what it greets with, or what it does after a greeting.
//
//===----------------------------------------------------------------------===//
#include "SerializerFuzzer.h"

#include "channel/Handshake.h"
#include "channel/shm/ShmChannel.h"
#include "os/Socket.h"

#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace cbridge;
using shm::Control;
using shm::Slot;

namespace {

/// The bits of the first byte.
enum { IsPeer = 1, FuzzGreeting = 2, File = 4 + 8, Lend = 16 };

/// Input that ends in zeros.
class Input {
public:
  explicit Input(Bytes Data) : Left(Data) {}
  bool empty() const { return Left.empty(); }
  Bytes rest() const { return Left; }
  template <typename T> T take() {
    T Value = 0;
    size_t Size = std::min(sizeof(T), Left.size());
    std::memcpy(&Value, Left.data(), Size);
    Left = Left.subspan(Size, Left.size() - Size);
    return Value;
  }

private:
  Bytes Left;
};

constexpr size_t SegmentSize = size_t(1) << 16, MaxMessage = SegmentSize;

/// The segment of the other end: used again and again.
os::SharedMemory &segment() {
  static auto *const Made = new std::shared_ptr<os::SharedMemory>(
      *os::SharedMemory::create(SegmentSize));
  return **Made;
}

int unsealed() {
  static const int Made = [] {
    int F = ::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    mustHold(::ftruncate(F, SegmentSize) == 0, "ftruncate");
    return F;
  }();
  return Made;
}

int small() {
  static auto *const Made =
      new std::shared_ptr<os::SharedMemory>(*os::SharedMemory::create(4096));
  return (*Made)->file();
}

struct Session {
  os::File Other;
  std::unique_ptr<shm::ShmChannel> Real;
  TensorStorage Tensors{{}};
  bool RealIsPeer;
  uint64_t Sent = 0; // by the other end

  explicit Session(bool RealIsPeer) : RealIsPeer(RealIsPeer) {
    int Ends[2];
    mustHold(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                          0, Ends) == 0,
             "socketpair");
    Other = os::File(Ends[1]);
    Real = std::make_unique<shm::ShmChannel>("fuzzer", os::File(Ends[0]),
                                             MaxMessage);
    std::memset(segment().data(), 0, SegmentSize);
    new (segment().data()) Control();
    if (!RealIsPeer)
      hello();
  }
  Slot &slot() const {
    return reinterpret_cast<Slot *>(segment().data() +
                                    shm::SlotsAt)[Sent % shm::SlotCount];
  }
  Status send(FrameKind Kind, size_t Size, bool FromTensors) {
    Message M;
    Status S = setText(M, std::string(FromTensors ? 8 : Size, 'x'));
    if (FromTensors && Tensors.size())
      M.lend(Tensors.view(0).Data);
    FrameHeader H;
    H.Kind = Kind;
    return S.ok() ? Real->send(H, M, Deadline::past()) : S;
  }
  void makeTensors() {
    auto Made =
        Real->makeTensors({TensorSpec::create<uint8_t>("t", {1 << 12})});
    mustHold(Made.ok(), Made.status().toString());
    Tensors = std::move(*Made);
  }
  void hello() {
    makeTensors();
    mustHold(send(FrameKind::Hello, 8, false).ok(), "a hello goes out");
  }
  void greet(Bytes Greeting, int With) {
    (void)os::sendSome(Other.get(), {&Greeting, 1},
                       {&With, With < 0 ? 0u : 1u});
    for (int Times = 0; Times < 3; ++Times)
      receive();
  }
  void greetProperly() {
    unsigned char Head[FrameHeader::Size];
    FrameHeader H;
    H.Kind = RealIsPeer ? FrameKind::Hello : FrameKind::Welcome;
    H.encode(Head);
    Bytes Greeting = Head;
    int With = segment().file();
    (void)os::sendSome(Other.get(), {&Greeting, 1}, {&With, 1});
    Expected<Frame> F = Real->receive(Deadline::past());
    mustHold(F.ok(), F.status().toString());
    if (!RealIsPeer)
      return;
    makeTensors();
    mustHold(send(FrameKind::Welcome, 8, false).ok(), "a welcome goes out");
  }

  void receive(size_t Specs = 0) {
    Expected<Frame> F = Real->receive(Deadline::past());
    if (!F) {
      mustHold(!F.status().message().empty(), "a failure has a message");
      return;
    }
    size_t Size = F->Payload.size();
    for (Bytes Piece : F->Lent)
      Size += Piece.size();
    mustHold(Size == F->Header.Length && Size <= MaxMessage,
             "the length is that of the header");
    auto Of = fuzzedSpecs()[Specs % fuzzedSpecs().size()];
    DecodedTensors To(Of);
    auto Codec = std::move(*makeSerializer("bitstream"));
    Status S = F->Lent.empty() ? Codec->decode(F->Payload, To)
                               : Codec->decodeLent(F->Payload, F->Lent, To);
    if (S.ok())
      for (const TensorView &V : To.Views)
        mustHold(inconsistency(V).empty(), inconsistency(V));
  }

  /// A frame that may be right.
  void publish(Input &In) {
    Slot &S = slot();
    FrameHeader H;
    H.Kind = FrameKind(In.take<uint8_t>());
    H.Length = In.take<uint16_t>();
    unsigned char Head[FrameHeader::Size];
    H.encode(Head);
    std::memcpy(S.Header, Head, Slot::HeaderSize);
    S.InlineSize = In.take<uint16_t>();
    S.PieceCount = In.take<uint8_t>();
    for (size_t I = 0; I < S.PieceCount && I < Slot::MaxPieces; ++I) {
      S.Pieces[I].Offset = uint64_t(In.take<uint16_t>()) * 32;
      S.Pieces[I].Size = In.take<uint16_t>();
    }
    S.Turn.store(++Sent);
  }

  void act(Input &In) {
    switch (In.take<uint8_t>() % 10) {
    case 0: { // anything anywhere
      size_t At = In.take<uint16_t>() * 8 % SegmentSize;
      auto Word = In.take<uint64_t>();
      std::memcpy(segment().data() + At, &Word, sizeof(Word));
      break;
    }
    case 1:
    case 2:
      publish(In);
      break;
    case 3:
      slot().Turn.store(++Sent);
      break;
    case 4:
      reinterpret_cast<Control *>(segment().data())
          ->Consumed.store(In.take<uint8_t>());
      break;
    case 5:
    case 6:
      receive(In.take<uint8_t>());
      break;
    case 7:
      (void)send(FrameKind::Context, In.take<uint16_t>(),
                 In.take<uint8_t>() % 2);
      break;
    case 8:
      os::wakeOther(Other.get());
      break;
    case 9:
      Other.close();
      break;
    }
  }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Size == 0 || Size > 8192)
    return 0;
  Input In({Data, Size});
  auto Choice = In.take<uint8_t>();
  Session S(!(Choice & IsPeer));
  if (Choice & Lend)
    S.Real->lendPayloads();
  if (Choice & FuzzGreeting) {
    int Files[] = {segment().file(), -1, unsealed(), small()};
    S.greet(In.rest(), Files[(Choice & File) / 4]);
    return 0;
  }
  S.greetProperly();
  while (!In.empty())
    S.act(In);
  S.receive();
  return 0;
}
