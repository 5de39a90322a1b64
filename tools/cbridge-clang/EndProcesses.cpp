//===- EndProcesses.cpp - Ends what would wait for us for ever ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EndProcesses.h"

#include "os/File.h"
#include "os/Folder.h"

#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr std::chrono::seconds Grace(5);

/// Empty of a process that has ended, reaped or not.
std::string commandLineOf(const std::string &Process) {
  std::string Text;
  Expected<os::File> F =
      os::openFile("/proc/" + Process + "/cmdline", O_RDONLY);
  unsigned char Chunk[4096];
  while (F) {
    os::Transfer T = os::readSome(F->get(), Chunk);
    if (T.Kind != os::Transfer::Done)
      break;
    Text.append(reinterpret_cast<const char *>(Chunk), T.Size);
  }
  return Text;
}

/// How many there were.
size_t signalAll(const std::string &Word, int Signal) {
  size_t Count = 0;
  Expected<std::vector<std::string>> Names = os::listFolder("/proc");
  if (!Names)
    return 0;
  for (const std::string &Name : *Names) {
    if (Name[0] < '1' || Name[0] > '9' ||
        commandLineOf(Name).find(Word) == std::string::npos)
      continue;
    // The number may be another's by now: what we hold is not.
    os::File Held(int(::syscall(SYS_pidfd_open, std::atoi(Name.c_str()), 0)));
    if (!Held || commandLineOf(Name).find(Word) == std::string::npos)
      continue;
    if (::syscall(SYS_pidfd_send_signal, Held.get(), Signal, nullptr, 0) == 0)
      ++Count;
  }
  return Count;
}

} // namespace

void endProcessesNaming(const std::string &Word) {
  // Once each: a second signal would end them before they have cleaned up.
  if (signalAll(Word, SIGTERM) == 0)
    return;
  Deadline Until = Deadline::in(Grace);
  os::Backoff Wait;
  while (signalAll(Word, 0) != 0)
    if (!Wait.pause(Until)) {
      signalAll(Word, SIGKILL);
      return;
    }
}

} // namespace cbridge::driver
