//===- Deadline.h - When a wait must end ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_DEADLINE_H
#define CBRIDGE_DEADLINE_H

#include <chrono>
#include <ctime>

namespace cbridge {

/// A point in monotonic time after which a wait gives up. Passing one Deadline
/// through several steps bounds their sum.
class Deadline {
public:
  using Clock = std::chrono::steady_clock;

  static Deadline never() { return Deadline(Clock::time_point::max()); }
  /// One that has passed: for a look without waiting.
  static Deadline past() { return Deadline(Clock::time_point::min()); }
  /// Of a second and more: to the hundredth of a second, never earlier, which
  /// is cheap.
  static Deadline in(std::chrono::nanoseconds Duration) {
    auto Now = Duration < std::chrono::seconds(1) ? Clock::now() : soon();
    if (Duration >= Clock::time_point::max() - Now)
      return never();
    return Deadline(Now + Duration);
  }
  static Deadline at(Clock::time_point End) { return Deadline(End); }

  Clock::time_point end() const { return End; }
  bool isNever() const { return End == Clock::time_point::max(); }
  bool passed() const { return !isNever() && Clock::now() >= End; }
  /// Zero once it has passed; the longest duration if it never does.
  std::chrono::nanoseconds remaining() const {
    if (isNever())
      return std::chrono::nanoseconds::max();
    auto Now = Clock::now();
    return End > Now ? End - Now : std::chrono::nanoseconds::zero();
  }
  /// The earlier of the two.
  Deadline operator&(Deadline Other) const {
    return Deadline(End < Other.End ? End : Other.End);
  }

private:
  /// A time that is not before now, and not much after it.
  static Clock::time_point soon() {
#ifdef CLOCK_MONOTONIC_COARSE
    timespec Coarse;
    if (::clock_gettime(CLOCK_MONOTONIC_COARSE, &Coarse) == 0)
      return Clock::time_point(std::chrono::seconds(Coarse.tv_sec) +
                               std::chrono::nanoseconds(Coarse.tv_nsec) +
                               std::chrono::milliseconds(10));
#endif
    return Clock::now();
  }
  explicit Deadline(Clock::time_point End) : End(End) {}
  Clock::time_point End;
};

} // namespace cbridge

#endif // CBRIDGE_DEADLINE_H
