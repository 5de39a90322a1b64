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
constexpr std::chrono::milliseconds Patience(200);

constexpr char Mark[] = "CBRIDGE_ASKS_IN";

/// False of a process that has ended, reaped or not.
bool isMarked(const std::string &Process, const std::string &Word) {
  std::string Text;
  Expected<os::File> F =
      os::openFile("/proc/" + Process + "/environ", O_RDONLY);
  unsigned char Chunk[4096];
  while (F) {
    os::Transfer T = os::readSome(F->get(), Chunk);
    if (T.Kind != os::Transfer::Done)
      break;
    Text.append(reinterpret_cast<const char *>(Chunk), T.Size);
  }
  return Text.find(Word) != std::string::npos;
}

bool signalOne(const std::string &Process, const std::string &Word,
               int Signal) {
  pid_t Id = std::atoi(Process.c_str());
  // The number may be another's by now: what we hold is not.
  os::File Held(int(::syscall(SYS_pidfd_open, Id, 0)));
  if (!isMarked(Process, Word))
    return false;
  if (!Held) // an old kernel, or a sandbox that does not know it
    return ::kill(Id, Signal) == 0;
  return ::syscall(SYS_pidfd_send_signal, Held.get(), Signal, nullptr, 0) == 0;
}

/// How many there were.
size_t signalAll(const std::string &Word, int Signal) {
  size_t Count = 0;
  if (Expected<std::vector<std::string>> Names = os::listFolder("/proc"))
    for (const std::string &Name : *Names)
      if (Name[0] >= '1' && Name[0] <= '9' && isMarked(Name, Word) &&
          signalOne(Name, Word, Signal))
        ++Count;
  return Count;
}

bool goneBy(Deadline Until, const std::string &Word) {
  os::Backoff Wait;
  while (signalAll(Word, 0) != 0)
    if (!Wait.pause(Until))
      return false;
  return true;
}

} // namespace

void markAsAsking(const std::string &Folder) {
  ::setenv(Mark, Folder.c_str(), 1);
}

void endAsking(const std::string &Folder, bool SignalledAlready) {
  std::string Word = Mark + ("=" + Folder);
  if (SignalledAlready && goneBy(Deadline::in(Patience), Word))
    return;
  if (signalAll(Word, SIGTERM) != 0 && !goneBy(Deadline::in(Grace), Word))
    signalAll(Word, SIGKILL);
}

} // namespace cbridge::driver
