//===- ClangProcess.cpp - Clang as a child --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClangProcess.h"

#include "EndProcesses.h"

#include "os/FileSet.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

std::vector<char *> pointers(const std::vector<std::string> &Words) {
  std::vector<char *> Argv;
  for (const std::string &Word : Words)
    Argv.push_back(const_cast<char *>(Word.c_str()));
  Argv.push_back(nullptr);
  return Argv;
}

void move(const ClangProcess::Place &In) {
  markAsAsking(In.Folder);
  // Where clang's own temporary files end with us, however it ends.
  ::setenv("TMPDIR", In.Folder.c_str(), 1);
  for (const auto &[Name, Value] : In.Variables)
    ::setenv(Name.c_str(), Value.c_str(), 1);
  if (In.Input >= 0)
    ::dup2(In.Input, STDIN_FILENO);
  ::dup2(In.Output, STDOUT_FILENO);
  ::dup2(In.Error, STDERR_FILENO);
}

} // namespace

Status execute(const std::string &Path, const std::vector<std::string> &Argv) {
  ::execv(Path.c_str(), pointers(Argv).data());
  return os::lastError("cannot run '" + Path + "'");
}

Status ClangProcess::start(const std::string &Path,
                           const std::vector<std::string> &Argv,
                           const Place *In) {
  if (Signals.file() < 0)
    return os::lastError("signalfd");
  pid_t Parent = ::getpid();
  Id = ::fork();
  if (Id < 0)
    return os::lastError("fork");
  if (Id > 0)
    return Status();
  // Should we be killed, clang is not to wait for answers.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != Parent)
    ::_exit(127);
  Signals.letThrough();
  if (In)
    move(*In);
  Status Why = execute(Path, Argv);
  ::dprintf(STDERR_FILENO, "cbridge-clang: error: %s\n", Why.message().c_str());
  ::_exit(2);
}

void ClangProcess::reap() {
  if (Id < 0)
    return;
  int How = 0;
  pid_t Ended;
  do
    Ended = ::waitpid(Id, &How, WNOHANG);
  while (Ended < 0 && errno == EINTR);
  if (Ended != 0) {
    HowEnded = How;
    Id = -1;
  }
}

void ClangProcess::send(int Signal) {
  if (Id > 0)
    ::kill(Id, Signal);
}

bool ClangProcess::wasKilled() const {
  if (!ended() || !WIFSIGNALED(HowEnded))
    return false;
  int By = WTERMSIG(HowEnded);
  return By == SIGKILL || isEnding(By);
}

void ClangProcess::handleSignals() {
  int Signal = Signals.take();
  reap();
  if (Signal)
    send(Signal);
}

void ClangProcess::wait(Deadline Until) {
  os::FileSet Files;
  Files.add(Signals.file());
  for (reap(); !ended(); handleSignals())
    if (!Files.wait(Signals.nextStep() & Until) && Until.passed()) {
      send(SIGKILL);
      Until = Deadline::never();
    }
}

} // namespace cbridge::driver
