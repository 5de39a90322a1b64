//===- ModelInterface.cpp - Whether a model tells its inputs --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelInterface.h"

#include "DefaultPolicy.h"

#include "os/File.h"

#include <cbridge/Model.h>

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr std::chrono::seconds Patience(10);
constexpr char Yes = 'y';

[[noreturn]] void tell(const std::string &Runner, int To) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What a model's library prints is nobody's business here.
  if (int Null = ::open("/dev/null", O_RDWR | O_CLOEXEC); Null >= 0)
    for (int Standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      ::dup2(Null, Standard);
  ssize_t Sent = 0;
  if (Model::describe(Runner))
    Sent = ::write(To, &Yes, 1);
  ::_exit(Sent == 1 ? 0 : 1);
}

} // namespace

bool describesItself(const std::string &Runner) {
  // Options may follow. It is in the plugin: this program does not have it.
  if (Runner.substr(0, Runner.find('?')) == DefaultPolicy)
    return true;
  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC) != 0)
    return false;
  os::File Ours = os::aboveStandard(os::File(Ends[0])),
           Theirs = os::aboveStandard(os::File(Ends[1]));
  pid_t Id = ::fork();
  if (Id < 0)
    return false;
  if (Id == 0)
    tell(Runner, Theirs.get());
  Theirs.close();
  char Said = 0;
  bool Does =
      os::waitReadable(Ours.get(), Deadline::in(Patience)) == os::Ready::Yes &&
      ::read(Ours.get(), &Said, 1) == 1 && Said == Yes;
  ::kill(Id, SIGKILL);
  while (::waitpid(Id, nullptr, 0) < 0 && errno == EINTR)
    continue;
  return Does;
}

} // namespace cbridge::driver
