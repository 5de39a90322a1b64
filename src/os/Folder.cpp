//===- Folder.cpp - Directories and limits of files -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Folder.h"

#include "os/File.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::os {

bool isFolder(const std::string &Path) {
  struct stat Info;
  return ::stat(Path.c_str(), &Info) == 0 && S_ISDIR(Info.st_mode);
}

Status makeFolder(const std::string &Path) {
  if (::mkdir(Path.c_str(), 0777) != 0 && errno != EEXIST)
    return lastError(Path);
  if (!isFolder(Path)) {
    errno = ENOTDIR;
    return lastError(Path);
  }
  if (::access(Path.c_str(), W_OK | X_OK) != 0)
    return lastError(Path);
  return Status();
}

Expected<std::vector<std::string>> listFolder(const std::string &Path) {
  DIR *Folder = ::opendir(Path.c_str());
  if (!Folder)
    return lastError(Path);
  std::vector<std::string> Names;
  errno = 0;
  while (const dirent *Entry = ::readdir(Folder)) {
    std::string Name = Entry->d_name;
    if (Name != "." && Name != "..")
      Names.push_back(std::move(Name));
  }
  Status Failed = errno ? lastError(Path) : Status();
  ::closedir(Folder);
  if (!Failed.ok())
    return Failed;
  std::sort(Names.begin(), Names.end());
  return Names;
}

uint64_t fileSizeLimit() {
  rlimit Limit;
  if (::getrlimit(RLIMIT_FSIZE, &Limit) != 0 || Limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<uint64_t>::max();
  return Limit.rlim_cur;
}

int processId() { return ::getpid(); }

} // namespace cbridge::os
