//===- PrivateFolder.h - A directory of our own -----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_PRIVATEFOLDER_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_PRIVATEFOLDER_H

#include "os/File.h"

namespace cbridge::driver {

/// A directory of our own, removed at the end.
class PrivateFolder {
public:
  PrivateFolder() : Made(os::makePrivateDirectory()) {}
  ~PrivateFolder() {
    if (Made)
      os::removeDirectory(*Made);
  }
  PrivateFolder(const PrivateFolder &) = delete;
  PrivateFolder &operator=(const PrivateFolder &) = delete;

  const Expected<std::string> Made;
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_PRIVATEFOLDER_H
