//===- FileSet.h - Waiting for one of several files -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_FILESET_H
#define CBRIDGE_OS_FILESET_H

#include <cbridge/Deadline.h>

#include <vector>

#include <poll.h>

namespace cbridge::os {

/// poll() with a deadline; interruptions do not end it. What it returns.
int pollUntil(pollfd *Files, size_t Count, Deadline Until);

/// Files to wait for until one of them can be read or has hung up. Reused, so
/// that it stops allocating.
class FileSet {
public:
  void clear() { Files.clear(); }
  void add(int File) { Files.push_back({File, POLLIN, 0}); }
  size_t size() const { return Files.size(); }
  int file(size_t I) const { return Files[I].fd; }
  /// False if the deadline passed first.
  bool wait(Deadline Until);
  /// Whether one of the files [First, Last) had something to say to wait().
  bool woken(size_t First, size_t Last) const;

private:
  std::vector<pollfd> Files;
};

} // namespace cbridge::os

#endif // CBRIDGE_OS_FILESET_H
