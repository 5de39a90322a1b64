//===- ShmSegment.h - One end's memory --------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SHM_SHMSEGMENT_H
#define CBRIDGE_CHANNEL_SHM_SHMSEGMENT_H

#include "channel/shm/ShmLayout.h"
#include "os/SharedMemory.h"
#include "tensor/Message.h"
#include "tensor/TensorMemory.h"

namespace cbridge::shm {

class OtherSegment;

/// The segment that we write: slots, bulk memory for what does not fit into
/// one, and our tensors.
class OwnSegment : public TensorMemory {
public:
  /// With room for tensors of Specs and for messages up to MaxMessage: less of
  /// it if there are no more addresses, here or at an end that has Theirs.
  static Expected<std::unique_ptr<OwnSegment>>
  create(const std::vector<TensorSpec> &Specs, size_t MaxMessage,
         const OtherSegment *Theirs);

  Control &control() const {
    return *reinterpret_cast<Control *>(Memory->data());
  }
  const unsigned char *slots() const { return Memory->data() + SlotsAt; }
  int file() const { return Memory->file(); }
  Expected<os::Region> reserve(size_t Size) override;

  /// Whether describe() would have to copy into the bulk memory.
  bool needsBulk(const Message &Payload) const;
  /// Publishes frame Index: unless they are small, the payload's pieces stay
  /// where they are if they lie in this segment.
  Status publish(uint64_t Index, const FrameHeader &Header,
                 const Message &Payload);

private:
  explicit OwnSegment(std::shared_ptr<os::SharedMemory> Memory)
      : Memory(std::move(Memory)) {}
  bool isOurs(Bytes Piece) const;

  std::shared_ptr<os::SharedMemory> Memory;
  os::Region Bulk;
  size_t Reserved = SlotsEnd; // handed out so far
  size_t Growing = 0;         // bytes for each tensor that grows
};

/// A frame as the other end describes it: checked.
struct Described {
  FrameHeader Header;
  Bytes Inline;
  std::vector<Bytes> Pieces;
};

/// The segment of the other end, which we read and do not trust.
class OtherSegment {
public:
  static Expected<std::unique_ptr<OtherSegment>> open(os::File Memory);
  const Control &control() const {
    return *reinterpret_cast<const Control *>(Memory->data());
  }
  const std::shared_ptr<os::SharedMemory> &memory() const { return Memory; }
  /// Whether frame Index has been published.
  bool has(uint64_t Index) const {
    return slot(Index).Turn.load(std::memory_order_seq_cst) == Index + 1;
  }
  /// Whether a piece lies where a payload goes that fits nowhere else.
  bool isBulk(Bytes Piece) const {
    return Piece.data() == Memory->data() + SlotsEnd;
  }
  /// What frame Index holds. Every length is read once.
  Status read(uint64_t Index, size_t MaxMessage, Described &To) const;

private:
  explicit OtherSegment(std::shared_ptr<os::SharedMemory> Memory)
      : Memory(std::move(Memory)) {}
  const Slot &slot(uint64_t Index) const {
    return reinterpret_cast<const Slot *>(Memory->data() +
                                          SlotsAt)[Index % SlotCount];
  }

  std::shared_ptr<os::SharedMemory> Memory;
};

} // namespace cbridge::shm

#endif // CBRIDGE_CHANNEL_SHM_SHMSEGMENT_H
