//===- EndProcesses.h - Ends what would wait for us for ever ----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_ENDPROCESSES_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_ENDPROCESSES_H

#include <string>

namespace cbridge::driver {

/// Marks this process, and all that it starts, as one that waits for answers
/// in Folder.
void markAsAsking(const std::string &Folder);

/// Ends all processes that bear the mark, wherever in the tree of processes
/// they are now. They may remove their temporary files first; those that take
/// too long are killed. If they may have got a signal already, a second one
/// would end them before they have cleaned up: they get some time first.
void endAsking(const std::string &Folder, bool SignalledAlready);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_ENDPROCESSES_H
