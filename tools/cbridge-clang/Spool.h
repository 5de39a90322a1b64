//===- Spool.h - Standard files that can be used twice ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_SPOOL_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_SPOOL_H

#include "os/File.h"

#include <string_view>

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
  /// The rest of the first line that starts so and has a text in it; empty:
  /// there is none.
  std::string lineWith(std::string_view Start, std::string_view Text) const;

private:
  os::File Near, Store;
};

/// Whether clang would colour what it prints, were it not held back.
bool wantsColour();
/// Writes all, whatever it takes.
Status writeAll(int To, Bytes Rest);
/// A new file that nobody has to remove.
Expected<os::File> makeNamelessFile(const std::string &Folder);
/// Whether this is a pipe or device, of which a second clang would get
/// something else than the first, or which would get everything twice.
bool isUsedUpOnce(const std::string &Path);
/// False if standard input is closed or a directory, say. Takes nothing of it.
bool canReadInput();
/// Replaces standard input by Store, with all that was in it. Stops if Cancel
/// can be read first.
Status spoolInput(const os::File &Store, int Cancel);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_SPOOL_H
