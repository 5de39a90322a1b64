//===- Socket.h - Unix sockets that carry files -----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_SOCKET_H
#define CBRIDGE_OS_SOCKET_H

#include "os/File.h"

#include <vector>

namespace cbridge::os {

/// A stream socket at Path that only this user can connect to. Path may be
/// longer than a socket address can hold.
Expected<File> listenUnix(const std::string &Path);
/// A connection to it. Fails if there is none, or none can be had now; those of
/// other users are dropped. The error's errno, or 0, is kept in *Errno if that
/// is given.
Expected<File> acceptUnix(const File &Listening, int *Errno = nullptr);
/// Connects at once or not at all; the error's errno is kept in *Errno.
Expected<File> connectUnix(const std::string &Path, int *Errno);

/// Why a server cannot have this port of Host now; ok if it can.
Status tryBind(const std::string &Host, const std::string &Port);

/// Sends what the socket takes now, and Files with the first byte. Raises no
/// SIGPIPE.
Transfer sendSome(int Socket, Span<const Bytes> Pieces, Span<const int> Files);
/// Receives what is there, and appends files that come with it, up to MostFiles
/// of them in all: more are closed. Fails with EMFILE if none could be taken.
Transfer receiveSome(int Socket, MutableBytes To, std::vector<File> &Files,
                     size_t MostFiles);
/// Wakes whoever polls the other end, by a byte; never blocks. False if nobody
/// has that end any more.
bool wakeOther(int Socket);
/// Takes such bytes away, though not for as long as the other end may send
/// them. False if it is gone.
bool clearWakes(int Socket);

} // namespace cbridge::os

#endif // CBRIDGE_OS_SOCKET_H
