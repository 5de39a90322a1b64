//===- Folder.h - Directories and limits of files ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_FOLDER_H
#define CBRIDGE_OS_FOLDER_H

#include <cbridge/Expected.h>

#include <string>
#include <vector>

namespace cbridge::os {

bool isFolder(const std::string &Path);
/// A directory in which files can be made; made itself if its parent exists.
Status makeFolder(const std::string &Path);
/// The names in a directory, sorted, without "." and "..".
Expected<std::vector<std::string>> listFolder(const std::string &Path);

/// How large a file of this process may become. Writing beyond that would raise
/// SIGXFSZ, which kills.
uint64_t fileSizeLimit();
int processId();

} // namespace cbridge::os

#endif // CBRIDGE_OS_FOLDER_H
