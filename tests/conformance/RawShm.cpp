//===- RawShm.cpp - Shared memory by hand ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RawFiles.h"

#include "channel/shm/ShmLayout.h"
#include "os/SharedMemory.h"
#include "os/Socket.h"

#include <cstring>
#include <new>

#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::conformance {

namespace {

// shm:PATH. Follows docs/formats/shm.md, not our implementation of it: frames
// lie in the slots or, if they are large, behind them.

constexpr size_t RawSegment = size_t(64) << 20;

std::string shmAddress(const std::string &Directory) {
  return "shm:" + Directory + "/peer";
}

/// Bytes are collected until they are a frame, and published then; those that
/// can become none are published at once.
class RawShm : public RawEnd {
public:
  using RawEnd::send;

  bool send(std::string_view Data, Deadline Until) override {
    if (!connected(Until))
      return false;
    if (Greeting)
      return sendGreeting(Data, Until);
    Unsent += Data;
    while (std::optional<size_t> Size = frameIn(Unsent)) {
      if (!publish(std::string_view(Unsent).substr(0, *Size), Until))
        return false;
      Unsent.erase(0, *Size);
    }
    return true;
  }

  bool receive(size_t Size, std::string &To, Deadline Until) override {
    if (!connected(Until))
      return false;
    while (Received.size() < Size)
      if (!(Greeting ? receiveGreeting(Until) : takeFrame(Until)))
        return false;
    To += Received.substr(0, Size);
    Received.erase(0, Size);
    return true;
  }

protected:
  explicit RawShm(bool IsPeer) : IsPeer(IsPeer) {
    if (auto Made = os::SharedMemory::create(RawSegment)) {
      Ours = std::move(*Made);
      new (Ours->data()) shm::Control();
    }
  }
  virtual bool connected(Deadline Until) = 0;
  os::File Socket;
  std::shared_ptr<os::SharedMemory> Ours, Theirs;

private:
  static shm::Control &control(const std::shared_ptr<os::SharedMemory> &Of) {
    return *reinterpret_cast<shm::Control *>(Of->data());
  }

  /// The size of what can be published: a frame, or something that is none.
  static std::optional<size_t> frameIn(const std::string &Data) {
    uint32_t Magic = FrameHeader::Magic;
    if (Data.empty())
      return std::nullopt;
    if (std::memcmp(Data.data(), &Magic, std::min(Data.size(), size_t(4))) != 0)
      return Data.size();
    if (Data.size() < FrameHeader::Size)
      return std::nullopt;
    auto Header = FrameHeader::decode(
        reinterpret_cast<const unsigned char *>(Data.data()));
    if (!Header || Header->Length > size_t(1) << 30)
      return Data.size();
    size_t Whole = FrameHeader::Size + size_t(Header->Length);
    return Data.size() < Whole ? std::nullopt : std::optional(Whole);
  }

  static shm::Slot &slot(const std::shared_ptr<os::SharedMemory> &Of,
                         uint64_t Index) {
    return reinterpret_cast<shm::Slot *>(Of->data() +
                                         shm::SlotsAt)[Index % shm::SlotCount];
  }

  bool publish(std::string_view Frame, Deadline Until) {
    os::Backoff Pause;
    while (Published - control(Theirs).Consumed.load() >= shm::SlotCount)
      if (!os::clearWakes(Socket.get()) || !Pause.pause(Until))
        return false;
    shm::Slot &Slot = slot(Ours, Published);
    std::string Header(Frame.substr(0, FrameHeader::Size));
    Frame.remove_prefix(Header.size());
    Header.resize(shm::Slot::HeaderSize);
    std::memcpy(Slot.Header, Header.data(), Header.size());
    Slot.InlineSize = Slot.PieceCount = 0;
    if (Frame.size() <= shm::Slot::MaxInline) {
      std::memcpy(Slot.Inline, Frame.data(), Frame.size());
      Slot.InlineSize = uint32_t(Frame.size());
    } else {
      std::memcpy(Ours->data() + shm::SlotsEnd, Frame.data(),
                  std::min(Frame.size(), RawSegment - shm::SlotsEnd));
      Slot.Pieces[0] = {shm::SlotsEnd, Frame.size()};
      Slot.PieceCount = 1;
    }
    Slot.Turn.store(++Published);
    os::wakeOther(Socket.get());
    return true;
  }

  bool takeFrame(Deadline Until) {
    const shm::Slot &Slot = slot(Theirs, Taken);
    os::Backoff Pause;
    while (Slot.Turn.load() != Taken + 1) {
      bool Alive = os::clearWakes(Socket.get());
      if (Slot.Turn.load() == Taken + 1)
        break;
      if (!Alive || !Pause.pause(Until))
        return false;
    }
    auto Append = [this](const unsigned char *From, size_t Size) {
      Received.append(reinterpret_cast<const char *>(From), Size);
    };
    Append(Slot.Header, shm::Slot::HeaderSize);
    Received.append(FrameHeader::Size - shm::Slot::HeaderSize, '\0');
    Append(Slot.Inline, Slot.InlineSize);
    for (size_t I = 0; I < Slot.PieceCount; ++I)
      Append(Theirs->data() + Slot.Pieces[I].Offset, Slot.Pieces[I].Size);
    control(Ours).Consumed.store(++Taken);
    return true;
  }

  /// Hello and welcome are bytes on the socket; the segment goes with the
  /// first. A peer that sends a whole welcome has greeted.
  bool sendGreeting(std::string_view Data, Deadline Until) {
    Unsent += Data;
    std::string Left(Data);
    while (!Left.empty()) {
      int File = Ours->file();
      Bytes Rest(reinterpret_cast<const unsigned char *>(Left.data()),
                 Left.size());
      os::Transfer T = os::sendSome(Socket.get(), {&Rest, 1},
                                    {&File, SegmentSent ? 0u : 1u});
      if (T.Kind == os::Transfer::Done) {
        SegmentSent = true;
        Left.erase(0, T.Size);
      } else if (T.Kind != os::Transfer::WouldBlock ||
                 os::waitWritable(Socket.get(), Until) != os::Ready::Yes) {
        return false;
      }
    }
    if (IsPeer)
      if (auto Size = frameIn(Unsent); Size && *Size == Unsent.size()) {
        Unsent.clear();
        Greeting = false;
      }
    return true;
  }

  bool receiveGreeting(Deadline Until) {
    unsigned char Part[4096];
    std::vector<os::File> Came;
    os::Transfer T = os::receiveSome(Socket.get(), Part, Came, 1);
    if (T.Kind == os::Transfer::WouldBlock)
      return os::waitReadable(Socket.get(), Until) == os::Ready::Yes;
    if (T.Kind != os::Transfer::Done)
      return false;
    Received.append(reinterpret_cast<char *>(Part), T.Size);
    Welcome.append(reinterpret_cast<char *>(Part), T.Size);
    if (!Came.empty())
      if (auto Opened =
              os::SharedMemory::open(std::move(Came[0]), shm::SlotsEnd))
        Theirs = std::move(*Opened);
    // A compiler has greeted when the whole welcome has come.
    if (!IsPeer && Theirs && frameIn(Welcome)) {
      Unsent.clear();
      Greeting = false;
    }
    return true;
  }

  bool IsPeer;
  bool Greeting = true, SegmentSent = false;
  std::string Unsent, Received, Welcome;
  uint64_t Published = 0, Taken = 0;
};

class RawShmPeer : public RawShm {
public:
  explicit RawShmPeer(std::string Path)
      : RawShm(/*IsPeer=*/true), Path(std::move(Path)) {}
  ~RawShmPeer() override { ::unlink(Path.c_str()); }
  bool open() { return take(Listening, os::listenUnix(Path)); }

private:
  bool connected(Deadline Until) override {
    return Socket ||
           (os::waitReadable(Listening.get(), Until) == os::Ready::Yes &&
            take(Socket, os::acceptUnix(Listening)));
  }
  std::string Path;
  os::File Listening;
};

class RawShmCompiler : public RawShm {
public:
  RawShmCompiler() : RawShm(/*IsPeer=*/false) {}
  bool open(const std::string &Path) {
    int Errno;
    return take(Socket, os::connectUnix(Path, &Errno));
  }

private:
  bool connected(Deadline) override { return true; }
};

std::unique_ptr<RawEnd> makeShmPeer(const std::string &Address) {
  auto End = std::make_unique<RawShmPeer>(targetOf(Address));
  if (!End->open())
    return nullptr;
  return End;
}

std::unique_ptr<RawEnd> makeShmCompiler(const std::string &Address, Manners) {
  auto End = std::make_unique<RawShmCompiler>();
  if (!End->open(targetOf(Address)))
    return nullptr;
  return End;
}

} // namespace

ChannelUnderTest shmUnderTest() {
  ChannelUnderTest C;
  C.Name = "shm";
  C.WholeMessages = true;
  C.Address = shmAddress;
  C.MakePeer = makeShmPeer;
  C.MakeCompiler = makeShmCompiler;
  return C;
}

} // namespace cbridge::conformance
