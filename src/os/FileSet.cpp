//===- FileSet.cpp - Waiting for one of several files ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/FileSet.h"

#include <cerrno>

namespace cbridge::os {

int pollUntil(pollfd *Files, size_t Count, Deadline Until) {
  for (;;) {
    timespec Left, *Limit = nullptr;
    if (!Until.isNever()) {
      auto Remaining = Until.remaining().count();
      Left.tv_sec = Remaining / 1'000'000'000;
      Left.tv_nsec = Remaining % 1'000'000'000;
      Limit = &Left;
    }
    int Ready = ::ppoll(Files, nfds_t(Count), Limit, nullptr);
    if (Ready >= 0 || errno != EINTR)
      return Ready;
    if (Until.passed())
      return 0;
  }
}

bool FileSet::wait(Deadline Until) {
  int Ready = pollUntil(Files.data(), Files.size(), Until);
  if (Ready <= 0)
    for (pollfd &Each : Files)
      Each.revents = 0;
  return Ready > 0;
}

bool FileSet::woken(size_t First, size_t Last) const {
  for (size_t I = First; I < Last; ++I)
    if (Files[I].revents)
      return true;
  return false;
}

} // namespace cbridge::os
