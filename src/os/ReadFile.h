//===- ReadFile.h - All that is in a file -----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_READFILE_H
#define CBRIDGE_OS_READFILE_H

#include "core/AlignedBuffer.h"

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <string>
#include <string_view>

namespace cbridge::os {

/// What a file has held; a copy, since a file that shrinks under a mapping
/// would end the process.
class FileContent {
public:
  FileContent(AlignedBuffer Memory, size_t Size)
      : Memory(std::move(Memory)), Size(Size) {}
  Bytes bytes() const { return {Memory.data(), Size}; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(Memory.data()), Size};
  }

private:
  AlignedBuffer Memory;
  size_t Size;
};

/// Fails with Unavailable if the file is not there, with OutOfMemory if it is
/// larger than MaxSize, and with Io if it is no regular file: a FIFO would keep
/// us waiting.
Expected<FileContent> readFile(const std::string &Path, size_t MaxSize);

} // namespace cbridge::os

#endif // CBRIDGE_OS_READFILE_H
