//===- Spin.h - Looking for a while before sleeping -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_SPIN_H
#define CBRIDGE_OS_SPIN_H

#include "os/File.h"

#include <cbridge/Deadline.h>

namespace cbridge::os {

/// The number of the only core on which this thread may run, or -1 if there are
/// several.
int onlyCore();

/// Tells the processor that we are waiting for another core.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How to wait for memory that another process writes, before sleeping.
enum class Spin {
  Not,   ///< it needs the kernel
  Yield, ///< we share a core: let it run
  Look,  ///< it has a core of its own: look again and again
};

/// Waits for memory that another process writes, for about as long as waking up
/// from a sleep would take. Learns when that is in vain, and then tries only
/// now and then.
class SpinHabit {
public:
  /// Whether Arrived() came true.
  template <typename Callable>
  bool spin(Spin How, Deadline Until, Callable &&Arrived) {
    if (How == Spin::Not || (Luck == 0 && ++Skipped % 64 != 0))
      return false;
    bool Came =
        How == Spin::Yield ? yieldFor(Arrived) : spinFor(Until, Arrived);
    if (Came)
      Luck = Luck < MostLuck ? Luck + 1 : MostLuck;
    else
      Luck = Luck > 1 ? Luck - 2 : 0;
    return Came;
  }

private:
  static constexpr std::chrono::nanoseconds Longest{150'000},
      Undisturbed{4'000}, Switch{1'500};
  static constexpr unsigned MostLuck = 32;

  template <typename Callable> static bool yieldFor(Callable &&Arrived) {
    for (int Times = 0; Times < 2; ++Times) {
      yield();
      if (Arrived())
        return true;
    }
    return false;
  }
  template <typename Callable>
  bool spinFor(Deadline Until, Callable &&Arrived) {
    // The answer of a small model takes less time than a pause.
    for (int Looks = 0; Looks < (Crowded ? 1 : 128); ++Looks)
      if (Arrived())
        return true;
    auto Begin = Deadline::Clock::now(), Now = Begin;
    while (Now - Begin < Longest) {
      if (Crowded || Now - Begin > Undisturbed) {
        // Whoever we wait for may be waiting for this core.
        yield();
        auto Later = Deadline::Clock::now();
        Crowded = Later - Now > Switch;
        Now = Later;
        if (Arrived())
          return true;
      } else {
        for (int Looks = 0; Looks < 16; ++Looks) {
          if (Arrived())
            return true;
          relax();
        }
        Now = Deadline::Clock::now();
      }
      if (Until.passed())
        break;
    }
    return Arrived();
  }

  /// Others ran when we let them: looking without a break would be at their
  /// cost.
  bool Crowded = false;
  unsigned Luck = MostLuck / 2, Skipped = 0;
};

} // namespace cbridge::os

#endif // CBRIDGE_OS_SPIN_H
