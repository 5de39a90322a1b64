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
  /// Frames that the owner has put into its slots so far.
  alignas(64) std::atomic<uint64_t> Published;
  /// Frames that the owner has taken from the other segment's slots.
  alignas(64) std::atomic<uint64_t> Consumed;
  /// Not 0 while the owner sleeps and wants a byte on the socket.
  alignas(64) std::atomic<uint32_t> Sleeping;
  /// One more than the number of the only core on which the owner may run; 0 if
  /// there are several. Two ends with one core do not spin.
  alignas(64) uint32_t OnlyCore;
};
static_assert(sizeof(Control) == 256 &&
              std::atomic<uint64_t>::is_always_lock_free);

/// A range of the segment.
struct Piece {
  uint64_t Offset, Size;
};

/// A published frame: its payload is the inline bytes and then the pieces.
struct Slot {
  static constexpr size_t MaxPieces = 64, MaxInline = 2944;
  unsigned char Header[FrameHeader::Size];
  uint64_t InlineSize, PieceCount;
  unsigned char Zero[48];
  Piece Pieces[MaxPieces];
  unsigned char Inline[MaxInline];
};
static_assert(sizeof(Slot) == 4096);

/// Frame N is in slot N % SlotCount.
constexpr size_t SlotCount = 8;
constexpr size_t SlotsAt = 4096, SlotsEnd = SlotsAt + SlotCount * sizeof(Slot);

} // namespace cbridge::shm

#endif // CBRIDGE_CHANNEL_SHM_SHMLAYOUT_H
