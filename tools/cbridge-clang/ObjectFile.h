//===- ObjectFile.h - How large an object is, and where it goes -*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_OBJECTFILE_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_OBJECTFILE_H

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <map>
#include <string>

namespace cbridge::driver {

struct ObjectSizes {
  /// The bytes of an ELF file that are loaded: code, constants, data, unwind
  /// tables, but not zeroed memory, which is in no file.
  uint64_t Loaded = 0;
  std::map<std::string, uint64_t> Functions;

  /// Fails if it is no ELF file or damaged.
  static Expected<ObjectSizes> of(Bytes Elf);
  static Expected<ObjectSizes> ofFile(const std::string &Path);
};

/// Whether clang would write this file by putting another in its place: there
/// is none or a regular one, and clang may write it and others beside it.
bool canBeReplaced(const std::string &Path);
/// Puts a copy of From where To is or shall be, in one step, with the
/// permissions of a new file there.
Status replaceFile(const std::string &From, const std::string &To);

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_OBJECTFILE_H
