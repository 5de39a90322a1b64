//===- Spool.h - Standard files that can be used twice ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_SPOOL_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_SPOOL_H

#include "os/File.h"

namespace cbridge::driver {

/// What a child writes, held back in a file without a name. The child sees a
/// pipe: a compiler replaces regular files that it is told to write, such as
/// /dev/stdout, by others.
class HeldOutput {
public:
  static Expected<HeldOutput> open(const std::string &Folder);

  /// For the child; to be closed in the parent once it has been started.
  os::File Far;
  /// Can be read when there is something for pump(); -1 at the end.
  int file() const { return Near.get(); }
  /// Stores what is there, without waiting.
  Status pump();
  /// Writes all of it to a file.
  Status copyTo(int To);

private:
  os::File Near, Store;
};

/// All of standard input, in a file without a name that is read from its
/// beginning.
Expected<os::File> spoolInput(const std::string &Folder);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_SPOOL_H
