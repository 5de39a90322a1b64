//===- PipeFiles.h - The files of pipe:BASE ---------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_PIPE_PIPEFILES_H
#define CBRIDGE_CHANNEL_PIPE_PIPEFILES_H

#include "os/File.h"

#include <sys/types.h>

namespace cbridge::pipe {

inline std::string toPeer(const std::string &Base) { return Base + ".out"; }
inline std::string toCompiler(const std::string &Base) { return Base + ".in"; }
inline std::string lockFile(const std::string &Base) { return Base + ".lock"; }

/// The byte of the lock file that the compiler locks which has the session.
constexpr off_t SessionByte = 1;
/// The byte that tells whether the FIFOs are clean.
constexpr off_t StateByte = 2;
/// Nothing is left in the FIFOs; written by the peer.
constexpr char Ready = 'R';
/// A session may have left something; written by the compiler.
constexpr char Busy = 'B';

char readState(const os::File &Lock);
Status writeState(const os::File &Lock, char State);

} // namespace cbridge::pipe

#endif // CBRIDGE_CHANNEL_PIPE_PIPEFILES_H
