//===- FileSet.cpp - Waiting for one of several files ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/FileSet.h"

#include <cerrno>

namespace cbridge::os {

bool FileSet::wait(Deadline Until) {
  for (;;) {
    timespec Left, *Limit = nullptr;
    if (!Until.isNever()) {
      auto Remaining = Until.remaining().count();
      Left.tv_sec = Remaining / 1'000'000'000;
      Left.tv_nsec = Remaining % 1'000'000'000;
      Limit = &Left;
    }
    int Count = ::ppoll(Files.data(), nfds_t(Files.size()), Limit, nullptr);
    if (Count >= 0)
      return Count > 0;
    for (pollfd &Each : Files)
      Each.revents = 0;
    if (errno != EINTR || Until.passed())
      return false;
  }
}

bool FileSet::woken(size_t First, size_t Last) const {
  for (size_t I = First; I < Last; ++I)
    if (Files[I].revents)
      return true;
  return false;
}

} // namespace cbridge::os
