//===- ClangProcess.cpp - Clang, and signals to us ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClangProcess.h"

#include "EndProcesses.h"

#include "os/FileSet.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr int Ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
/// Who signals a whole group has signalled clang as well: two signals would
/// keep it from removing its temporary files.
constexpr std::chrono::milliseconds GroupDelay(100);

std::vector<char *> pointers(const std::vector<std::string> &Words) {
  std::vector<char *> Argv;
  for (const std::string &Word : Words)
    Argv.push_back(const_cast<char *>(Word.c_str()));
  Argv.push_back(nullptr);
  return Argv;
}

} // namespace

Status execute(const std::string &Path, const std::vector<std::string> &Argv) {
  ::execv(Path.c_str(), pointers(Argv).data());
  return os::lastError("cannot run '" + Path + "'");
}

void dieBy(int Signal) {
  // The one that matters has left its core.
  struct rlimit None = {0, 0};
  ::setrlimit(RLIMIT_CORE, &None);
  ::signal(Signal, SIG_DFL);
  sigset_t Only;
  sigemptyset(&Only);
  sigaddset(&Only, Signal);
  ::raise(Signal);
  ::sigprocmask(SIG_UNBLOCK, &Only, nullptr);
  ::_exit(128 + Signal);
}

ClangProcess::ClangProcess() {
  sigset_t Caught;
  sigemptyset(&Caught);
  sigaddset(&Caught, SIGCHLD);
  for (int Signal : Ending) {
    // One that nohup or a shell has made us ignore stays so.
    struct sigaction Now;
    if (::sigaction(Signal, nullptr, &Now) == 0 && Now.sa_handler != SIG_IGN)
      sigaddset(&Caught, Signal);
  }
  ::sigprocmask(SIG_BLOCK, &Caught, &Before);
  struct sigaction Default = {};
  Default.sa_handler = SIG_DFL; // ignored, children could not be waited for
  ::sigaction(SIGCHLD, &Default, &ChildBefore);
  Signals = os::aboveStandard(
      os::File(::signalfd(-1, &Caught, SFD_CLOEXEC | SFD_NONBLOCK)));
}

void ClangProcess::letSignalsThrough() {
  ::sigaction(SIGCHLD, &ChildBefore, nullptr);
  ::sigprocmask(SIG_SETMASK, &Before, nullptr);
}

Status ClangProcess::start(const std::string &Path,
                           const std::vector<std::string> &Argv,
                           const Place *In) {
  if (!Signals)
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
  ::sigaction(SIGCHLD, &ChildBefore, nullptr);
  ::sigprocmask(SIG_SETMASK, &Before, nullptr);
  if (In) {
    markAsAsking(In->Folder);
    // Where clang's own temporary files end with us, however it ends.
    ::setenv("TMPDIR", In->Folder.c_str(), 1);
    ::dup2(In->Output, STDOUT_FILENO);
    ::dup2(In->Error, STDERR_FILENO);
  }
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

bool ClangProcess::wasKilled() const {
  if (!ended() || !WIFSIGNALED(HowEnded))
    return false;
  int By = WTERMSIG(HowEnded);
  return By == SIGKILL || std::find(std::begin(Ending), std::end(Ending), By) !=
                              std::end(Ending);
}

void ClangProcess::handleSignals() {
  signalfd_siginfo Info;
  while (::read(Signals.get(), &Info, sizeof(Info)) == sizeof(Info)) {
    if (Info.ssi_signo == SIGCHLD)
      continue;
    Received = int(Info.ssi_signo);
    // A terminal's go to the whole group.
    if (Info.ssi_code != SI_KERNEL)
      PassOn = Deadline::in(GroupDelay);
  }
  reap();
  if (PassOn.passed()) {
    PassOn = Deadline::never();
    if (Id > 0)
      ::kill(Id, Received);
  }
}

void ClangProcess::wait(Deadline Until) {
  os::FileSet Files;
  Files.add(Signals.get());
  for (reap(); !ended(); handleSignals())
    if (!Files.wait(PassOn & Until) && Until.passed()) {
      ::kill(Id, SIGKILL);
      Until = Deadline::never();
    }
}

} // namespace cbridge::driver
