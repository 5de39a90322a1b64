//===- CaughtSignals.cpp - Signals that ask us to end ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CaughtSignals.h"

#include <algorithm>

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr int Ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
/// Who signals a whole group has signalled clang as well: two signals would
/// keep it from removing its temporary files.
constexpr std::chrono::milliseconds GroupDelay(100);

} // namespace

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

bool isEnding(int Signal) {
  return std::find(std::begin(Ending), std::end(Ending), Signal) !=
         std::end(Ending);
}

CaughtSignals::CaughtSignals() {
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
  File = os::aboveStandard(
      os::File(::signalfd(-1, &Caught, SFD_CLOEXEC | SFD_NONBLOCK)));
}

void CaughtSignals::letThrough() const {
  ::sigaction(SIGCHLD, &ChildBefore, nullptr);
  ::sigprocmask(SIG_SETMASK, &Before, nullptr);
}

int CaughtSignals::take() {
  signalfd_siginfo Info;
  while (::read(File.get(), &Info, sizeof(Info)) == sizeof(Info)) {
    if (Info.ssi_signo == SIGCHLD)
      continue;
    Received = int(Info.ssi_signo);
    // A terminal's go to the whole group.
    if (Info.ssi_code != SI_KERNEL)
      PassOn = Deadline::in(GroupDelay);
  }
  if (!PassOn.passed())
    return 0;
  PassOn = Deadline::never();
  return Received;
}

} // namespace cbridge::driver
