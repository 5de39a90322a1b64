//===- InteractiveStream.h - What LLVM asks, as it arrives ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LLVM_INTERACTIVE_INTERACTIVESTREAM_H
#define CBRIDGE_LLVM_INTERACTIVE_INTERACTIVESTREAM_H

#include "core/AlignedBuffer.h"

#include <cbridge/Signature.h>
#include <cbridge/TensorStorage.h>

#include <optional>

namespace cbridge {

/// Decodes what an LLVM compiler writes to its interactive channel, in pieces
/// of any size; see docs/formats/interactive.md.
///
/// Nothing is believed: sizes have caps, and memory is taken for bytes that
/// arrived, not for those that were claimed. After a failure every call
/// returns that failure, until reset(). Not thread-safe.
class InteractiveStream {
public:
  /// The features of one question; all of them have one size for good.
  static constexpr size_t MaxObservation = size_t(64) << 20;
  /// An answer is one write that never waits.
  static constexpr size_t MaxAdvice = 4096;

  enum class Event {
    Nothing,  ///< more bytes are needed
    Began,    ///< a compiler told its signature
    Question, ///< it waits for an answer
  };

  /// Where the next bytes go, never empty unless memory ran out; filled() tells
  /// how many came.
  MutableBytes space();
  void filled(size_t Count) { End += Count; }
  Expected<Event> next();
  /// A new compiler begins: what is left of the old one is dropped.
  void reset();
  /// Whether some of a compiler's words have come: its header, or a part.
  bool begun() const { return Storage || Begin != End; }

  /// Valid once a compiler began; features until the next call of next().
  const Signature &signature() const { return Sig; }
  const std::string &context() const { return Context; }
  uint64_t ordinal() const { return Ordinal; }
  Span<const TensorView> features() const { return Storage->views(); }

private:
  Status readHeader(std::string_view Line);
  Status readObservation();
  Status fail(const std::string &Why);
  bool takeLine(std::string_view &Line);

  AlignedBuffer Buffer;
  size_t Begin = 0, End = 0;
  size_t Seen = 0; // bytes from Begin that have no end of line

  Signature Sig;
  std::optional<TensorStorage> Storage;
  size_t ObservationSize = 0;
  std::string Context;
  uint64_t Ordinal = 0;
  bool Observing = false; // tensors come next
  Status Failure;
};

} // namespace cbridge

#endif // CBRIDGE_LLVM_INTERACTIVE_INTERACTIVESTREAM_H
