//===- ShmChannel.cpp - Frames in shared memory ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/shm/ShmChannel.h"

#include "os/Socket.h"

#include <cstring>

namespace cbridge::shm {

os::Transfer Greeting::readSome(int File, MutableBytes To) {
  return os::receiveSome(File, To, Came, /*MostFiles=*/1);
}

os::Transfer Greeting::writeSome(int File, Span<const Bytes> Pieces) {
  Span<const int> Files(&SegmentToSend, SegmentToSend >= 0 ? 1 : 0);
  os::Transfer T = os::sendSome(File, Pieces, Files);
  if (T.Kind == os::Transfer::Done)
    SegmentToSend = -1;
  return T;
}

Status ShmChannel::closed() const {
  return Status::error(StatusCode::PeerClosed, Name + " closed the connection");
}

Expected<TensorStorage> ShmChannel::makeTensors(std::vector<TensorSpec> Specs) {
  assert(!Ours && "asked for twice");
  auto Made = OwnSegment::create(Specs, MaxMessage, Theirs.get());
  if (!Made)
    return Made.status();
  Ours = std::move(*Made);
  TensorStorage Tensors(std::move(Specs), *Ours);
  if (Status S = Tensors.status(); !S)
    return S;
  return Tensors;
}

Status ShmChannel::sendGreeting(FrameHeader H, const Message &Payload,
                                Deadline Until) {
  bool Introduces = H.Kind == FrameKind::Hello || H.Kind == FrameKind::Welcome;
  if (Introduces) {
    if (!Ours)
      if (Expected<TensorStorage> None = makeTensors({}); !None)
        return None.status();
    Greet->SegmentToSend = Ours->file();
  }
  Status S = Greet->send(H, Payload, Until);
  if (S.ok() && Introduces && Theirs)
    beginTalking();
  return S;
}

/// What follows is in the segments.
void ShmChannel::beginTalking() {
  Greet.reset();
  Files.add(Socket.get()); // has room now, however late the first sleep is
  uint32_t Mine = Ours->control().OnlyCore, Other = Theirs->control().OnlyCore;
  How = Mine && Mine == Other ? os::Spin::Yield : os::Spin::Look;
}

Expected<Frame> ShmChannel::receiveGreeting(Deadline Until) {
  Expected<Frame> F = Greet->receive(Until);
  if (!F || Theirs ||
      (F->Header.Kind != FrameKind::Hello &&
       F->Header.Kind != FrameKind::Welcome))
    return F;
  if (Greet->Came.empty())
    return Status::error(StatusCode::Protocol, Name + " sends no segment");
  auto Opened = OtherSegment::open(std::move(Greet->Came[0]));
  if (!Opened)
    return Opened.status().withContext(Name);
  Theirs = std::move(*Opened);
  Answers = F->Header.Kind == FrameKind::Hello;
  if (Answers || !Ours)
    return F; // it is our turn, or they have it wrong
  // The frame lives in what is going to be destroyed.
  if (!Buffer->Copied.reserve(F->Payload.size() + 1, 0))
    return Status::error(StatusCode::OutOfMemory, "no memory for a welcome");
  std::memcpy(Buffer->Copied.data(), F->Payload.data(), F->Payload.size());
  Frame Copy{F->Header, {Buffer->Copied.data(), F->Payload.size()}, {}};
  beginTalking();
  return Copy;
}

/// Waits until a slot is free, and the bulk memory if it is needed. The other
/// end is not told that we wait: it hardly ever happens.
Status ShmChannel::awaitRoom(bool Bulk, Deadline Until) {
  os::Backoff Pause;
  for (;;) {
    if (Published - TakenByThem < SlotCount &&
        (!Bulk || TakenByThem >= LastBulk))
      return Status();
    uint64_t Before = TakenByThem;
    TakenByThem = Theirs->control().Consumed.load(std::memory_order_acquire);
    if (TakenByThem > Published || TakenByThem < Before)
      return Status::error(StatusCode::Protocol,
                           Name + " took frames that there were not");
    if (TakenByThem != Before)
      continue;
    // A compiler takes an answer before it asks again.
    if (Answers)
      return Status::error(StatusCode::Protocol,
                           Name + " does not take its answers");
    if (HungUp || !os::clearWakes(Socket.get()))
      return closed();
    if (!Pause.pause(Until))
      return Status::error(StatusCode::Timeout,
                           Name + " does not take the message");
  }
}

Status ShmChannel::send(FrameHeader H, const Message &Payload, Deadline Until) {
  if (Greet)
    return sendGreeting(H, Payload, Until);
  bool Bulk = Ours->needsBulk(Payload);
  if (Status S = awaitRoom(Bulk, Until); !S)
    return S;
  H.Length = Payload.size();
  // Pairs with beginWait: either we see that the other end sleeps, or it sees
  // the frame.
  if (Status S = Ours->publish(Published, H, Payload); !S)
    return Status::error(StatusCode::Io, S.message());
  ++Published;
  if (Bulk)
    LastBulk = Published;
  if (Theirs->control().Sleeping.load(std::memory_order_seq_cst) &&
      !os::wakeOther(Socket.get()))
    return closed();
  return Status();
}

void ShmChannel::consumed() {
  Ours->control().Consumed.store(Taken, std::memory_order_release);
  Holding = false;
}

bool ShmChannel::ready() {
  if (Greet)
    return Greet->ready();
  return arrived() || HungUp;
}

bool ShmChannel::beginWait(os::FileSet &Files) {
  if (Greet)
    return Greet->beginWait(Files);
  Files.add(Socket.get());
  if (Holding)
    consumed();
  Ours->control().Sleeping.store(1, std::memory_order_seq_cst);
  return !HungUp && !arrived();
}

void ShmChannel::endWait(bool Woken) {
  if (Greet)
    return;
  Ours->control().Sleeping.store(0, std::memory_order_relaxed);
  if (Woken && !os::clearWakes(Socket.get()))
    HungUp = true;
}

Status ShmChannel::awaitFrame(Deadline Until) {
  if (Spinning.spin(How, Until, [this] { return arrived(); }))
    return Status();
  for (;;) {
    Files.clear();
    bool Sleep = beginWait(Files), Woken = false;
    if (Sleep)
      Woken = os::waitReadable(Socket.get(), Until) == os::Ready::Yes;
    endWait(Woken);
    // What it said before it died counts.
    if (arrived())
      return Status();
    if (HungUp)
      return closed();
    // It may wake us for nothing as often as it likes.
    if (Sleep && (!Woken || Until.passed()))
      return Status::error(StatusCode::Timeout, "no answer from " + Name);
  }
}

Expected<Frame> ShmChannel::receive(Deadline Until) {
  if (Greet)
    return receiveGreeting(Until);
  if (Holding)
    consumed();
  if (!arrived())
    if (Status S = awaitFrame(Until); !S)
      return S;
  return take();
}

Expected<Frame> ShmChannel::take() {
  if (Status S = Theirs->read(Taken, MaxMessage, Latest); !S)
    return Status::error(S.code(), Name + " " + S.message());
  ++Taken;
  if (!Buffer)
    Buffer = Buffers.take();
  // The decoder wants what comes first, such as extents, as a copy; in the bulk
  // memory there is no telling where that ends.
  bool Lent = Lends && Latest.Header.Kind == FrameKind::Request &&
              !Latest.Pieces.empty() && !Theirs->isBulk(Latest.Pieces[0]);
  size_t Size = Lent ? Latest.Inline.size() : size_t(Latest.Header.Length);
  if (!Buffer->Copied.reserve(Size ? Size : 1, 0))
    return Status::error(StatusCode::Protocol,
                         Name + " sends a message of " + std::to_string(Size) +
                             " bytes, for which there is no memory");
  unsigned char *To = Buffer->Copied.data();
  auto Append = [&To](Bytes From) {
    if (!From.empty())
      std::memcpy(To, From.data(), From.size());
    To += From.size();
  };
  Append(Latest.Inline);
  Frame F{Latest.Header, {Buffer->Copied.data(), Size}, {}};
  if (Lent) {
    F.Lent = Latest.Pieces;
    Buffer->LentFrom = Theirs->memory();
    Holding = true;
    return F;
  }
  for (Bytes Piece : Latest.Pieces)
    Append(Piece);
  consumed();
  return F;
}

std::shared_ptr<const void> ShmChannel::keepPayload() {
  if (Greet)
    return Greet->keepPayload();
  return std::move(Buffer);
}

} // namespace cbridge::shm
