//===- FindClang.cpp - The clang that does the work -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "shared/FindClang.h"

#include "shared/Capture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::tool {

namespace {

constexpr char Debian[] = "/usr/lib/llvm-19/bin/";

bool isProgram(const std::string &Path) {
  struct stat Info;
  return ::stat(Path.c_str(), &Info) == 0 && S_ISREG(Info.st_mode) &&
         ::access(Path.c_str(), X_OK) == 0;
}

/// The name of what is behind links.
std::string realName(const std::string &Path) {
  std::unique_ptr<char, void (*)(void *)> Real(
      ::realpath(Path.c_str(), nullptr), std::free);
  std::string Name = Real ? Real.get() : "";
  return Name.substr(Name.rfind('/') + 1);
}

/// Also through links, and under the other of our two names; and the scripts of
/// those names, which start it.
bool isThisProgram(const std::string &Path) {
  std::string Name = realName(Path);
  if (Name == "cbridge-clang" || Name == "cbridge-clang++")
    return true;
  struct stat Other, Own;
  return ::stat(Path.c_str(), &Other) == 0 &&
         ::stat("/proc/self/exe", &Own) == 0 && Other.st_dev == Own.st_dev &&
         Other.st_ino == Own.st_ino;
}

/// Under clang's name. It sees neither our environment nor what it must not
/// share: it belongs in front of us.
bool isCcache(const std::string &Path) { return realName(Path) == "ccache"; }

std::string inPath(const std::string &Name) {
  const char *Path = std::getenv("PATH");
  for (std::string_view Rest = Path ? Path : ""; !Rest.empty();) {
    size_t End = std::min(Rest.find(':'), Rest.size());
    std::string File = std::string(Rest.substr(0, End));
    File += (File.empty() ? "./" : "/") + Name;
    if (isProgram(File) && !isThisProgram(File) && !isCcache(File))
      return File;
    Rest.remove_prefix(std::min(End + 1, Rest.size()));
  }
  return "";
}

} // namespace

bool Clang::isVersion19() const {
  // What Debian names so needs not be asked, which would take a while.
  std::string Name = Path.substr(Path.rfind('/') + 1);
  if (Name == "clang-19" || Name == "clang++-19" ||
      Path.compare(0, std::strlen(Debian), Debian) == 0)
    return true;
  Expected<Captured> Version = capture({Path, "-dumpversion"}, {},
                                       Deadline::in(std::chrono::seconds(10)));
  return Version && Version->Output.compare(0, 3, "19.") == 0;
}

Expected<Clang> findClang(bool IsCxx) {
  Clang Found;
  const char *Given = std::getenv("CBRIDGE_CLANG");
  if (Given && *Given) {
    Found.Path = Given;
    if (!isProgram(Found.Path))
      return Status::error(StatusCode::Unavailable,
                           "CBRIDGE_CLANG: '" + Found.Path + "' is no program");
    if (isThisProgram(Found.Path))
      return Status::error(StatusCode::InvalidArgument,
                           "CBRIDGE_CLANG: '" + Found.Path +
                               "' is this program, not clang");
    bool NamedCxx =
        Found.Path.find("++", Found.Path.rfind('/') + 1) != std::string::npos;
    if (NamedCxx != IsCxx)
      Found.Arguments = {IsCxx ? "--driver-mode=g++" : "--driver-mode=gcc"};
    return Found;
  }
  std::string Name = IsCxx ? "clang++" : "clang";
  Found.Path = inPath(Name + "-19");
  if (Found.Path.empty() && isProgram(Debian + Name))
    Found.Path = Debian + Name;
  if (Found.Path.empty())
    return Status::error(StatusCode::Unavailable,
                         "there is no " + Name + "-19 in PATH nor " + Debian +
                             Name + "; name one in CBRIDGE_CLANG");
  return Found;
}

} // namespace cbridge::tool
