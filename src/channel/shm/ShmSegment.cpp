//===- ShmSegment.cpp - One end's memory ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/shm/ShmSegment.h"

#include "os/Spin.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace cbridge::shm {

static constexpr size_t Page = 4096;
/// Addresses, not memory, for all tensors that grow.
static constexpr size_t MostAddresses = size_t(1) << 38;
/// For all the rest of a segment.
static constexpr size_t MostFixed = 4 * TensorStorage::MaxTensorBytes;

static size_t pages(size_t Size) { return (Size + Page - 1) / Page * Page; }

Expected<std::unique_ptr<OwnSegment>>
OwnSegment::create(const std::vector<TensorSpec> &Specs, size_t MaxMessage,
                   const OtherSegment *Theirs) {
  // Whoever makes a small segment has few addresses, and is to map ours, too.
  size_t Most = Theirs ? Theirs->memory()->size() : MostAddresses;
  if (Most >= TensorStorage::MaxTensorBytes)
    Most = MostAddresses + MostFixed;
  TensorPlan Plan(Specs);
  size_t Largest = std::min(TensorStorage::MaxTensorBytes,
                            MostAddresses / (Plan.Growing + 1));
  size_t BulkSize = pages(std::min(MaxMessage, TensorStorage::MaxTensorBytes));
  // Some processes may not have as many addresses as we like.
  for (;; Largest /= 4, BulkSize = std::max(std::min(BulkSize, size_t(1) << 18),
                                            pages(BulkSize / 4))) {
    Largest = pages(Largest);
    size_t Size =
        SlotsEnd + BulkSize + pages(Plan.FixedBytes) + Plan.Growing * Largest;
    bool CanShrink = BulkSize > size_t(1) << 20 ||
                     (Plan.Growing && Largest > size_t(1) << 20);
    if (CanShrink && Size > Most)
      continue;
    auto Memory = os::SharedMemory::create(Size);
    if (!Memory && Memory.status().code() == StatusCode::OutOfMemory &&
        CanShrink)
      continue;
    if (!Memory)
      return Memory.status();
    std::unique_ptr<OwnSegment> Made(new OwnSegment(std::move(*Memory)));
    if (Status S = Made->Memory->commit(0, SlotsEnd); !S)
      return S;
    auto *Begin = new (Made->Memory->data()) Control();
    Begin->OnlyCore = uint32_t(os::onlyCore() + 1);
    Made->Growing = Largest;
    Made->Bulk = os::Region(Made->Memory, SlotsEnd, BulkSize);
    Made->Reserved = SlotsEnd + BulkSize;
    return Made;
  }
}

Expected<os::Region> OwnSegment::reserve(size_t Size) {
  Size = pages(Size == TensorStorage::MaxTensorBytes ? Growing : Size);
  if (Size > Memory->size() - Reserved)
    return Status::error(StatusCode::OutOfMemory,
                         "no room in the shared segment");
  Reserved += Size;
  return os::Region(Memory, Reserved - Size, Size);
}

bool OwnSegment::isOurs(Bytes Piece) const {
  return Piece.data() >= Memory->data() + SlotsEnd &&
         Piece.data() + Piece.size() <= Memory->data() + Memory->size();
}

bool OwnSegment::needsBulk(const Message &Payload) const {
  if (Payload.size() <= SmallPayload)
    return false;
  if (Payload.own().size() > Slot::MaxInline ||
      Payload.lent().size() > Slot::MaxPieces)
    return true;
  for (Bytes Piece : Payload.lent())
    if (!isOurs(Piece))
      return true;
  return false;
}

/// Copies all of a payload to To.
static void flatten(const Message &Payload, unsigned char *To) {
  auto Append = [&To](Bytes From) {
    if (!From.empty())
      std::memcpy(To, From.data(), From.size());
    To += From.size();
  };
  Append(Payload.own());
  for (Bytes Piece : Payload.lent())
    Append(Piece);
}

Status OwnSegment::publish(uint64_t Index, const FrameHeader &Header,
                           const Message &Payload) {
  auto &S =
      reinterpret_cast<Slot *>(Memory->data() + SlotsAt)[Index % SlotCount];
  size_t Inline = 0, Count = 0;
  if (Payload.size() <= SmallPayload) {
    flatten(Payload, S.Inline);
    Inline = Payload.size();
  } else if (needsBulk(Payload)) {
    if (Status Grown = Bulk.grow(Payload.size(), Bulk.reserved()); !Grown)
      return Grown;
    flatten(Payload, Bulk.data());
    S.Pieces[Count++] = {SlotsEnd, Payload.size()};
  } else {
    Inline = Payload.own().size();
    if (Inline)
      std::memcpy(S.Inline, Payload.own().data(), Inline);
    for (Bytes Piece : Payload.lent())
      S.Pieces[Count++] = {uint64_t(Piece.data() - Memory->data()),
                           Piece.size()};
  }
  Header.encodeUsed(S.Header);
  S.InlineSize = uint32_t(Inline);
  S.PieceCount = uint32_t(Count);
  S.Turn.store(Index + 1, std::memory_order_seq_cst);
  return Status();
}

Expected<std::unique_ptr<OtherSegment>> OtherSegment::open(os::File Memory) {
  auto Mapped = os::SharedMemory::open(std::move(Memory), SlotsEnd,
                                       MostAddresses + MostFixed);
  if (!Mapped)
    return Mapped.status();
  return std::unique_ptr<OtherSegment>(new OtherSegment(std::move(*Mapped)));
}

/// The other process may write while we read, so that the compiler must not
/// read twice.
template <typename T> static T readOnce(const T &From) {
  return *const_cast<const volatile T *>(&From);
}

Status OtherSegment::read(uint64_t Index, size_t MaxMessage,
                          Described &To) const {
  const Slot &S = slot(Index);
  auto Bad = [](std::string Why) {
    return Status::error(StatusCode::Protocol, std::move(Why));
  };
  unsigned char Copy[Slot::HeaderSize];
  std::memcpy(Copy, S.Header, Slot::HeaderSize);
  uint32_t Magic = FrameHeader::Magic;
  if (std::memcmp(Copy, &Magic, sizeof(Magic)) != 0)
    return Bad("sends something that is no frame");
  Expected<FrameHeader> H = FrameHeader::decodeUsed(Copy);
  if (!H)
    return H.status();
  if (H->Length > MaxMessage)
    return Bad("announces " + std::to_string(H->Length) +
               " bytes; the limit is " + std::to_string(MaxMessage));
  uint32_t Inline = readOnce(S.InlineSize), Count = readOnce(S.PieceCount);
  if (Inline > Slot::MaxInline || Count > Slot::MaxPieces)
    return Bad("sends a slot with " + std::to_string(Inline) + " bytes and " +
               std::to_string(Count) + " pieces");
  To.Header = *H;
  To.Inline = {S.Inline, size_t(Inline)};
  To.Pieces.clear();
  uint64_t Total = Inline;
  for (size_t I = 0; I < Count; ++I) {
    uint64_t Offset = readOnce(S.Pieces[I].Offset),
             Size = readOnce(S.Pieces[I].Size);
    if (Offset > Memory->size() || Size > Memory->size() - Offset ||
        Offset % TensorAlignment != 0)
      return Bad("sends a piece of " + std::to_string(Size) + " bytes at " +
                 std::to_string(Offset) + ", its segment has " +
                 std::to_string(Memory->size()));
    To.Pieces.push_back({Memory->data() + Offset, size_t(Size)});
    Total += Size;
  }
  if (Total != H->Length)
    return Bad("announces " + std::to_string(H->Length) + " bytes and sends " +
               std::to_string(Total));
  return Status();
}

} // namespace cbridge::shm
