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

/// Ends all processes of this user whose command line has Word, which nobody
/// else could know: compilers, wherever in the tree of processes they are now.
/// They may remove their temporary files first; those that take too long are
/// killed.
void endProcessesNaming(const std::string &Word);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_ENDPROCESSES_H
