//===- InteractiveChannel.h - The two FIFOs of a channel --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LLVM_INTERACTIVE_INTERACTIVECHANNEL_H
#define CBRIDGE_LLVM_INTERACTIVE_INTERACTIVECHANNEL_H

#include "InteractiveStream.h"

#include "os/File.h"

namespace cbridge {

/// The FIFOs `BASE.in` and `BASE.out` of one of LLVM's interactive channels,
/// made here, and one compiler after the other at their far end.
///
/// Nothing here waits. Answers always have somewhere to go: we are a reader of
/// their FIFO ourselves, and also its writer for as long as we live, without
/// which a compiler would spin. Move-only.
class InteractiveChannel {
public:
  static Expected<InteractiveChannel> make(const std::string &Base);
  InteractiveChannel(InteractiveChannel &&Other) noexcept = default;
  InteractiveChannel &operator=(InteractiveChannel &&) = delete;
  /// Removes the FIFOs, unless it is a forked copy.
  ~InteractiveChannel();

  enum class Event { Nothing, Began, Question, Ended };
  /// What has come since the last call.
  Expected<Event> read();
  Status reply(Bytes Advice);

  /// Can be read when there is something for read().
  int file() const { return Questions.get(); }
  const std::string &base() const { return Base; }
  const InteractiveStream &stream() const { return In; }

private:
  explicit InteractiveChannel(std::string Base);
  Status open();
  Status reopen();

  std::string Base;
  os::File Questions, Answers;
  pid_t Owner;
  InteractiveStream In;
};

} // namespace cbridge

#endif // CBRIDGE_LLVM_INTERACTIVE_INTERACTIVECHANNEL_H
