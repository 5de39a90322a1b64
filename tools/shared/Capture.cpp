//===- Capture.cpp - What another program prints --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "shared/Capture.h"

#include "os/File.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace cbridge::tool {

namespace {

constexpr size_t Most = size_t(1) << 20;

/// Ours, with some replaced or added.
std::vector<char *> environment(const std::vector<std::string> &More) {
  std::vector<char *> All;
  auto Replaced = [&](const char *Each) {
    size_t Name = std::strcspn(Each, "=") + 1;
    return std::any_of(More.begin(), More.end(), [&](const std::string &New) {
      return New.compare(0, Name, Each, Name) == 0;
    });
  };
  for (char **Each = environ; *Each; ++Each)
    if (!Replaced(*Each))
      All.push_back(*Each);
  for (const std::string &New : More)
    All.push_back(const_cast<char *>(New.c_str()));
  All.push_back(nullptr);
  return All;
}

/// False if the deadline passed before the program was done.
bool readAll(int From, std::string &To, Deadline Until) {
  unsigned char Part[4096];
  for (;;) {
    if (os::waitReadable(From, Until) == os::Ready::Timeout)
      return false;
    os::Transfer Moved = os::readSome(From, {Part, sizeof(Part)});
    if (Moved.Kind == os::Transfer::WouldBlock)
      continue;
    if (Moved.Kind != os::Transfer::Done)
      return true;
    To.append(reinterpret_cast<char *>(Part),
              std::min(Moved.Size, Most - To.size()));
  }
}

} // namespace

Expected<Captured> capture(std::vector<std::string> Command,
                           const std::vector<std::string> &Environment,
                           Deadline Until) {
  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC) != 0)
    return os::lastError("a pipe");
  os::File Read(Ends[0]), Write(Ends[1]);
  std::vector<char *> Argv;
  for (std::string &Word : Command)
    Argv.push_back(Word.data());
  Argv.push_back(nullptr);

  posix_spawn_file_actions_t Actions;
  posix_spawn_file_actions_init(&Actions);
  posix_spawn_file_actions_addopen(&Actions, STDIN_FILENO, "/dev/null",
                                   O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&Actions, Write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&Actions, Write.get(), STDERR_FILENO);
  pid_t Child = -1;
  int Error = ::posix_spawnp(&Child, Argv[0], &Actions, nullptr, Argv.data(),
                             environment(Environment).data());
  posix_spawn_file_actions_destroy(&Actions);
  if (Error != 0)
    return Status::error(StatusCode::Io, "cannot run " + Command[0] + ": " +
                                             std::strerror(Error));
  Write.close();

  Captured Done{};
  bool InTime = readAll(Read.get(), Done.Output, Until);
  if (!InTime)
    ::kill(Child, SIGKILL);
  int How = 0;
  while (::waitpid(Child, &How, 0) < 0 && errno == EINTR)
    continue;
  if (!InTime)
    return Status::error(StatusCode::Timeout,
                         Command[0] + " did not end in time");
  Done.ExitStatus = WIFEXITED(How) ? WEXITSTATUS(How) : 128 + WTERMSIG(How);
  return Done;
}

} // namespace cbridge::tool
