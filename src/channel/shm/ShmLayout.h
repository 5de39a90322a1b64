//===- ShmLayout.h - What lies where in a segment ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SHM_SHMLAYOUT_H
#define CBRIDGE_CHANNEL_SHM_SHMLAYOUT_H

#include "channel/Frame.h"

#include <atomic>

namespace cbridge::shm {

/// Each end has a segment that it writes and the other reads; see
/// docs/formats/shm.md. A segment begins with this, of which every word has a
/// cache line of its own.
struct Control {
  /// Frames that the owner has taken from the other segment's slots.
  alignas(64) std::atomic<uint64_t> Consumed;
  /// Not 0 while the owner sleeps and wants a byte on the socket.
  alignas(64) std::atomic<uint32_t> Sleeping;
  /// One more than the number of the only core on which the owner may run; 0 if
  /// there are several. Two ends with one core do not spin.
  alignas(64) uint32_t OnlyCore;
};
static_assert(sizeof(Control) == 192);

/// A range of the segment.
struct Piece {
  uint64_t Offset, Size;
};

/// A frame: its payload is the inline bytes and then the pieces. The last words
/// of its header, which are always zero, have another use here, so that one
/// cache line tells that a small frame has come and what it is.
struct Slot {
  static constexpr size_t HeaderSize = FrameHeader::UsedSize;
  static constexpr size_t MaxInline = 3072, MaxPieces = 60;
  unsigned char Header[HeaderSize];
  uint32_t InlineSize, PieceCount;
  /// One more than the number of the frame, once all the rest is there.
  std::atomic<uint64_t> Turn;
  unsigned char Inline[MaxInline];
  Piece Pieces[MaxPieces];
};
static_assert(sizeof(Slot) == 4096 && sizeof(Piece) == 16 &&
              std::atomic<uint64_t>::is_always_lock_free);

/// A payload up to this size goes inline as a whole: to copy it is cheaper than
/// to look it up.
constexpr size_t SmallPayload = 1024;

/// Frame N is in slot N % SlotCount.
constexpr size_t SlotCount = 8;
constexpr size_t SlotsAt = 4096, SlotsEnd = SlotsAt + SlotCount * sizeof(Slot);

} // namespace cbridge::shm

#endif // CBRIDGE_CHANNEL_SHM_SHMLAYOUT_H
