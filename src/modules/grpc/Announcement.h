//===- Announcement.h - A file that tells an address ------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_ANNOUNCEMENT_H
#define CBRIDGE_MODULES_GRPC_ANNOUNCEMENT_H

#include "os/File.h"

namespace cbridge {

/// `announce=FILE`: one line with the address that is served, for this user
/// only. Whoever sees the file sees all of it.
class Announcement {
public:
  /// Replaces an announcement or an empty file at Path, but nothing else.
  Status write(const std::string &Path, const std::string &Address);
  /// Removes the file, if it is still ours.
  void remove();

  /// The address in the file at Path. Unavailable: there is none yet.
  static Expected<std::string> read(const std::string &Path);

private:
  std::string Path;
  os::File Written;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_ANNOUNCEMENT_H
