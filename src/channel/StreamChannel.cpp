//===- StreamChannel.cpp - Frames over a pair of file descriptors ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/StreamChannel.h"

#include "os/File.h"

#include <algorithm>
#include <cstring>

namespace cbridge {

static constexpr size_t FirstCapacity = 4096;
// Memory grows with what has arrived: at most to twice that, or this much more.
static constexpr size_t GrowthAhead = size_t(4) << 20;

os::Transfer StreamChannel::readSome(int File, MutableBytes To) {
  return os::readSome(File, To);
}

os::Transfer StreamChannel::writeSome(int File, Span<const Bytes> Pieces) {
  return os::writeSome(File, Pieces);
}

Status StreamChannel::closed() const {
  return Status::error(StatusCode::PeerClosed, Name + " closed the connection");
}

Status StreamChannel::send(FrameHeader H, const Message &Payload,
                           Deadline Until) {
  H.Length = Payload.size();
  unsigned char Encoded[FrameHeader::Size];
  H.encode(Encoded);
  Pieces.clear();
  Pieces.push_back(Encoded);
  if (!Payload.own().empty())
    Pieces.push_back(Payload.own());
  Pieces.insert(Pieces.end(), Payload.lent().begin(), Payload.lent().end());

  auto NotTaken = [&] {
    return Status::error(StatusCode::Timeout,
                         Name + " does not take the message");
  };
  for (size_t First = 0; First < Pieces.size();) {
    os::Transfer T =
        writeSome(Ends.Write, {Pieces.data() + First, Pieces.size() - First});
    switch (T.Kind) {
    case os::Transfer::Done:
      for (; First < Pieces.size() && T.Size >= Pieces[First].size(); ++First)
        T.Size -= Pieces[First].size();
      if (T.Size)
        Pieces[First] =
            Pieces[First].subspan(T.Size, Pieces[First].size() - T.Size);
      if (First < Pieces.size() && Until.passed())
        return NotTaken();
      break;
    case os::Transfer::WouldBlock:
      switch (os::waitWritable(Ends.Write, Until, Ends.CancelWrite)) {
      case os::Ready::Yes:
        break;
      case os::Ready::Timeout:
        return NotTaken();
      case os::Ready::Cancelled:
        return closed();
      }
      break;
    case os::Transfer::Closed:
      return closed();
    case os::Transfer::Failed:
      return os::lastError("writing to " + Name);
    }
  }
  return Status();
}

void StreamChannel::dropFrame() {
  size_t Left = Filled - FrameSize;
  if (Kept) {
    std::shared_ptr<AlignedBuffer> Old = std::move(Buffer);
    Buffer = Buffers.take();
    Kept = false;
    if (!Buffer->reserve(std::max({FirstCapacity, FrameSize, Left}), 0))
      Left = 0; // receive() finds out that there is no memory
    else if (Left)
      std::memcpy(Buffer->data(), Old->data() + FrameSize, Left);
  } else if (Left) {
    std::memmove(Buffer->data(), Buffer->data() + FrameSize, Left);
  }
  Filled = Left;
  FrameSize = Needed = 0;
}

Status StreamChannel::ensureRoom(size_t Size) {
  if (Buffer->reserve(Size, Filled))
    return Status();
  return Status::error(StatusCode::Protocol,
                       Name + " sends a message of " + std::to_string(Needed) +
                           " bytes, for which there is no memory");
}

Expected<bool> StreamChannel::frameIsComplete() {
  if (Needed == 0) {
    uint32_t Magic = FrameHeader::Magic;
    if (std::memcmp(Buffer->data(), &Magic, std::min(Filled, sizeof(Magic))) !=
        0)
      return Status::error(StatusCode::Protocol,
                           Name + " sends something that is no frame");
    if (Filled < FrameHeader::Size)
      return false;
    Expected<FrameHeader> H = FrameHeader::decode(Buffer->data());
    if (!H)
      return H.status().withContext(Name);
    if (H->Length > MaxMessage)
      return Status::error(StatusCode::Protocol,
                           Name + " announces " + std::to_string(H->Length) +
                               " bytes; the limit is " +
                               std::to_string(MaxMessage));
    Header = *H;
    Needed = FrameHeader::Size + size_t(Header.Length);
  }
  return Filled >= Needed;
}

Expected<Frame> StreamChannel::receive(Deadline Until) {
  if (FrameSize)
    dropFrame();
  if (Status S = ensureRoom(FirstCapacity); !S)
    return S;
  for (bool HasRead = false;; HasRead = true) {
    if (Filled) {
      Expected<bool> Complete = frameIsComplete();
      if (!Complete)
        return Complete.status();
      if (*Complete) {
        FrameSize = Needed;
        return Frame{
            Header, {Buffer->data() + FrameHeader::Size, Header.Length}, {}};
      }
      if (Needed > Buffer->capacity())
        if (Status S = ensureRoom(
                std::min(Needed, std::max(2 * Filled, Filled + GrowthAhead)));
            !S)
          return S;
      // Data may flow for longer than we have time.
      if (HasRead && Until.passed())
        return tooLate();
    }
    if (Status S = readMore(Until); !S)
      return S;
  }
}

bool StreamChannel::ready() {
  if (FrameSize)
    dropFrame();
  if (Filled == 0)
    return false;
  Expected<bool> Complete = frameIsComplete();
  return !Complete || *Complete;
}

bool StreamChannel::beginWait(os::FileSet &Files) {
  Files.add(Ends.Read);
  return !ready();
}

Status StreamChannel::readMore(Deadline Until) {
  MutableBytes Free(Buffer->data() + Filled, Buffer->capacity() - Filled);
  if (Yielding.worthwhile()) {
    os::yield();
    os::Transfer T = readSome(Ends.Read, Free);
    Yielding.learn(T.Kind != os::Transfer::WouldBlock);
    if (T.Kind != os::Transfer::WouldBlock)
      return took(T);
  }
  switch (os::waitReadable(Ends.Read, Until, Ends.CancelRead)) {
  case os::Ready::Yes:
    return took(readSome(Ends.Read, Free));
  case os::Ready::Timeout:
    return tooLate();
  case os::Ready::Cancelled:
    break;
  }
  return closed();
}

Status StreamChannel::tooLate() const {
  return Status::error(StatusCode::Timeout, Filled
                                                ? Name + " stopped after " +
                                                      std::to_string(Filled) +
                                                      " bytes of a message"
                                                : "no answer from " + Name);
}

Status StreamChannel::took(const os::Transfer &T) {
  switch (T.Kind) {
  case os::Transfer::Done:
    Filled += T.Size;
    return Status();
  case os::Transfer::WouldBlock:
    return Status();
  case os::Transfer::Closed:
    return Filled ? Status::error(StatusCode::PeerClosed,
                                  Name + " closed the connection after " +
                                      std::to_string(Filled) +
                                      " bytes of a message")
                  : closed();
  case os::Transfer::Failed:
    break;
  }
  return os::lastError("reading from " + Name);
}

} // namespace cbridge
