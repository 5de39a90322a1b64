//===- Fifo.h - Named pipes -------------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_FIFO_H
#define CBRIDGE_OS_FIFO_H

#include "os/File.h"

namespace cbridge::os {

/// Makes a FIFO that only this user can open. Replaces one that is there,
/// left by a process that died; refuses to replace anything else.
Status makeFifo(const std::string &Path);
/// Opens a FIFO without waiting for its other end, and makes room for large
/// messages; refuses other files.
Expected<File> openFifo(const std::string &Path, int Flags,
                        int *Errno = nullptr);
/// Reads and drops what is in a FIFO.
void drainFifo(int Fifo);

} // namespace cbridge::os

#endif // CBRIDGE_OS_FIFO_H
