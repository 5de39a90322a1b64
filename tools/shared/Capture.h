//===- Capture.h - What another program prints ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_SHARED_CAPTURE_H
#define CBRIDGE_TOOLS_SHARED_CAPTURE_H

#include <cbridge/Deadline.h>
#include <cbridge/Expected.h>

#include <string>
#include <vector>

namespace cbridge::tool {

struct Captured {
  int ExitStatus;     ///< as a shell gives it: 128 + N for signal N
  std::string Output; ///< both streams, the first mebibyte
};

/// Runs a program, found in PATH, with nothing on its standard input, and with
/// Environment ("NAME=value") added to ours. It is killed when Until passes.
Expected<Captured> capture(std::vector<std::string> Command,
                           const std::vector<std::string> &Environment,
                           Deadline Until);

} // namespace cbridge::tool

#endif // CBRIDGE_TOOLS_SHARED_CAPTURE_H
