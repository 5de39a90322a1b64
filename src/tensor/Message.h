//===- Message.h - An outgoing message in pieces ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TENSOR_MESSAGE_H
#define CBRIDGE_TENSOR_MESSAGE_H

#include "core/AlignedBuffer.h"

#include <vector>

namespace cbridge {

/// The payload of one outgoing message: first bytes of its own, then bytes that
/// are lent by others and must live until it is sent. Reused between messages,
/// so that it stops allocating.
class Message {
public:
  void clear() {
    Pieces.clear();
    OwnSize = Total = 0;
  }
  /// Room for Size bytes of its own behind the OwnSize so far, before anything
  /// is lent; null if there is not enough memory. Moves earlier own bytes.
  unsigned char *room(size_t Size) {
    if (OwnSize + Size > Own.capacity() &&
        !Own.reserve(OwnSize + Size + OwnSize / 2, OwnSize))
      return nullptr;
    return Own.data() + OwnSize;
  }
  /// Size bytes of the room have been written.
  void wrote(size_t Size) {
    OwnSize += Size;
    Total += Size;
  }
  void lend(Bytes Piece) {
    Total += Piece.size();
    if (!Pieces.empty() &&
        Pieces.back().data() + Pieces.back().size() == Piece.data())
      Pieces.back() = {Pieces.back().data(),
                       Pieces.back().size() + Piece.size()};
    else if (!Piece.empty())
      Pieces.push_back(Piece);
  }

  size_t size() const { return Total; }
  Bytes own() const { return {Own.data(), OwnSize}; }
  Span<const Bytes> lent() const { return Pieces; }

private:
  AlignedBuffer Own;
  std::vector<Bytes> Pieces;
  size_t OwnSize = 0, Total = 0;
};

} // namespace cbridge

#endif // CBRIDGE_TENSOR_MESSAGE_H
