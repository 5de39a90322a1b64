//===- StreamChannel.h - Frames over a pair of file descriptors -*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_STREAMCHANNEL_H
#define CBRIDGE_CHANNEL_STREAMCHANNEL_H

#include "channel/Channel.h"
#include "core/Recycler.h"
#include "os/File.h"

#include <vector>

namespace cbridge {

/// Whether to let others run once before asking the kernel to wake us. Where
/// both ends share a core, the answer is then there, which saves a poll(2);
/// elsewhere it is not, and after a few tries we stop trying, for a while.
class YieldHabit {
public:
  bool worthwhile() { return Luck > 0 || ++Skipped % 128 == 0; }
  void learn(bool Helped) {
    if (Helped)
      Luck = Luck < 8 ? Luck + 1 : 8;
    else
      Luck = Luck > 2 ? Luck - 2 : 0;
  }

private:
  unsigned Luck = 4, Skipped = 0;
};

/// A channel over two non-blocking byte streams, which a derived class owns.
/// Reads as much as there is, keeps what belongs to the next frame, and takes
/// no memory on the word of a length alone.
class StreamChannel : public Channel {
public:
  StreamChannel(std::string Name, size_t MaxMessage)
      : Name(std::move(Name)), MaxMessage(MaxMessage), Buffer(Buffers.take()) {}

  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override;
  Expected<Frame> receive(Deadline Until) override;
  std::shared_ptr<const void> keepPayload() override {
    Kept = true;
    return Buffer;
  }
  const std::string &name() const override { return Name; }
  bool hasPart() const override { return Filled != 0; }
  bool gone() override { return os::hungUp(Ends.Read); }
  bool ready() override;
  bool beginWait(os::FileSet &Files) override;

protected:
  /// Where to read, where to write, and files (or -1) that end the waits for
  /// either when they hang up.
  struct Files {
    int Read, Write, CancelRead = -1, CancelWrite = -1;
  };
  void use(Files F) { Ends = F; }
  /// One read or write that does not block: of a FIFO, unless overridden.
  virtual os::Transfer readSome(int File, MutableBytes To);
  virtual os::Transfer writeSome(int File, Span<const Bytes> Pieces);

private:
  void dropFrame();
  Expected<bool> frameIsComplete();
  Status ensureRoom(size_t Size);
  Status readMore(Deadline Until);
  Status took(const os::Transfer &T);
  Status closed() const;
  Status tooLate() const;

  std::string Name;
  size_t MaxMessage;
  Files Ends = {-1, -1};
  Recycler<AlignedBuffer> Buffers;
  std::shared_ptr<AlignedBuffer> Buffer;
  bool Kept = false;    // somebody may still use Buffer
  size_t Filled = 0;    // bytes in Buffer
  size_t FrameSize = 0; // of the frame handed out last
  size_t Needed = 0;    // of the frame being read, once its header is known
  FrameHeader Header;
  YieldHabit Yielding;
  std::vector<Bytes> Pieces;
};

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_STREAMCHANNEL_H
