//===- SocketPlace.h - The path of a socket that we serve -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SOCKETPLACE_H
#define CBRIDGE_CHANNEL_SOCKETPLACE_H

#include "os/File.h"

namespace cbridge {

/// The path of a Unix socket of ours, which gRPC would take away from others.
/// PATH.lock beside it tells that it is taken.
class SocketPlace {
public:
  SocketPlace() = default;
  /// Fails if somebody serves Address there, or if what is there is no socket;
  /// removes one that was left by a process that died.
  Status take(const std::string &Path, const std::string &Address);
  bool isTaken() const { return bool(Lock); }
  /// Once there is a socket: only this user can connect to it from now on.
  void shutOut() const;
  /// Whether it is still ours, and not removed and taken by another.
  bool isOurs() const;
  /// Removes socket and lock, which must be ours.
  void remove() const;

private:
  std::string lockPath() const { return Path + ".lock"; }
  std::string Path;
  os::File Lock;
};

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_SOCKETPLACE_H
