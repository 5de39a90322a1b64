//===- InteractiveHost.h - Answers LLVM's interactive questions -*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LLVM_INTERACTIVE_INTERACTIVEHOST_H
#define CBRIDGE_LLVM_INTERACTIVE_INTERACTIVEHOST_H

#include "AdviceRules.h"
#include "InteractiveChannel.h"

#include "os/FileSet.h"

#include <vector>

namespace cbridge {

/// A compiler that waits for an answer. A view: valid until the host is asked
/// for the next one.
struct InteractiveQuestion {
  size_t Channel = 0; ///< which of the host's
  const Signature *Sig = nullptr;
  std::string_view Context; ///< the function, as the compiler named it
  uint64_t Ordinal = 0;
  Span<const TensorView> Features;
  const AdviceRules *Rules = nullptr;
};

/// The other end of stock LLVM's interactive protocol: compilers that were
/// told `-…-interactive-channel-base=BASE` ask, one after the other at each
/// BASE, and get answers that do them no harm.
///
/// A compiler waits for ever for its answer, and spins without a host: the
/// host must outlive it, or end it. Move-only; not thread-safe.
class InteractiveHost {
public:
  /// Makes the FIFOs of each base.
  static Expected<InteractiveHost> open(Span<const std::string> Bases);

  /// The next question; null once Stop (a file, or -1) can be read or has hung
  /// up. Fails with Timeout after Until, and with Protocol if a compiler, which
  /// then gets no answer any more, writes what it must not. A question that was
  /// not answered gets the default, and counts as replaced.
  Expected<const InteractiveQuestion *> next(Deadline Until, int Stop = -1);
  /// Answers the latest question with the bytes of its advice. What is not
  /// legal is replaced by the default: false then.
  Expected<bool> reply(Bytes Advice);

  struct Counts {
    uint64_t Compilers = 0, Questions = 0;
    uint64_t Replaced = 0; ///< answers that were not legal or not given
  };
  const Counts &counts(size_t Channel) const { return Lines[Channel].Count; }
  const std::string &base(size_t Channel) const {
    return Lines[Channel].Channel.base();
  }
  size_t size() const { return Lines.size(); }

private:
  struct Line {
    explicit Line(InteractiveChannel C) : Channel(std::move(C)) {}
    InteractiveChannel Channel;
    AdviceRules Rules;
    Counts Count;
    bool Look = false; // there may be something to read
  };
  InteractiveHost() = default;
  Expected<bool> look(Line &L);
  Status replace();
  Status send(Bytes Advice);

  std::vector<Line> Lines;
  os::FileSet Files;
  InteractiveQuestion Asked;
  bool Waiting = false; // somebody, for the answer to Asked
  size_t Turn = 0;      // who is looked at first
};

} // namespace cbridge

#endif // CBRIDGE_LLVM_INTERACTIVE_INTERACTIVEHOST_H
