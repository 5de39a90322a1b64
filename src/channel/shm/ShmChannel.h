//===- ShmChannel.h - Frames in shared memory -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SHM_SHMCHANNEL_H
#define CBRIDGE_CHANNEL_SHM_SHMCHANNEL_H

#include "channel/StreamChannel.h"
#include "channel/shm/ShmSegment.h"
#include "os/Spin.h"

namespace cbridge::shm {

/// The socket's part: hello and welcome, each with a segment.
class Greeting : public StreamChannel {
public:
  Greeting(std::string Name, size_t MaxMessage, int Socket)
      : StreamChannel(std::move(Name), MaxMessage) {
    use({Socket, Socket});
  }
  /// Goes out with the next frame; -1: none.
  int SegmentToSend = -1;
  /// What has come.
  std::vector<os::File> Came;

protected:
  os::Transfer readSome(int File, MutableBytes To) override;
  os::Transfer writeSome(int File, Span<const Bytes> Pieces) override;
};

/// Either end of a session. Hello and welcome go over the socket; then frames
/// lie in the segments, and the socket only wakes and tells of death.
class ShmChannel : public Channel {
public:
  ShmChannel(const std::string &Name, os::File Connected, size_t MaxMessage)
      : Name(Name), MaxMessage(MaxMessage), Socket(std::move(Connected)),
        Greet(std::make_unique<Greeting>(Name, MaxMessage, Socket.get())),
        Buffer(Buffers.take()) {}

  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override;
  Expected<Frame> receive(Deadline Until) override;
  std::shared_ptr<const void> keepPayload() override;
  os::Spin spinning() const override { return How; }
  Expected<TensorStorage> makeTensors(std::vector<TensorSpec> Specs) override;
  void lendPayloads() override { Lends = true; }
  const std::string &name() const override { return Name; }
  bool gone() override { return HungUp || os::hungUp(Socket.get()); }
  bool ready() override;
  bool beginWait(os::FileSet &Files) override;
  void endWait(bool Woken) override;

protected:
  void hangUp() { Socket.close(); }

private:
  Status sendGreeting(FrameHeader Header, const Message &Payload,
                      Deadline Until);
  Expected<Frame> receiveGreeting(Deadline Until);
  void beginTalking();
  Status awaitRoom(bool Bulk, Deadline Until);
  Status awaitFrame(Deadline Until);
  Expected<Frame> take();
  void consumed();
  bool arrived() const { return Theirs->has(Taken); }
  Status closed() const;

  std::string Name;
  size_t MaxMessage;
  os::File Socket;
  std::unique_ptr<Greeting> Greet; // until both segments are known
  std::unique_ptr<OwnSegment> Ours;
  std::unique_ptr<OtherSegment> Theirs;
  uint64_t Published = 0, LastBulk = 0, Taken = 0;
  uint64_t TakenByThem = 0; // at least; looked up when it matters
  bool Holding = false;     // the frame taken last is still lent
  bool Lends = false;
  bool HungUp = false;
  bool Answers = false; // we are the peer
  /// What a payload lies in.
  struct Payload {
    AlignedBuffer Copied;
    std::shared_ptr<os::SharedMemory> LentFrom;
  };
  Recycler<Payload> Buffers;
  std::shared_ptr<Payload> Buffer; // null once somebody keeps it
  Described Latest;
  os::Spin How = os::Spin::Not;
  os::SpinHabit Spinning;
  os::FileSet Files; // only while it sleeps
};

} // namespace cbridge::shm

#endif // CBRIDGE_CHANNEL_SHM_SHMCHANNEL_H
