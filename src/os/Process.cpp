//===- Process.cpp - A child process --------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Process.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace cbridge::os {

Process::Process(pid_t Id, File Lifeline)
    : Id(Id), Owner(::getpid()), Lifeline(std::move(Lifeline)) {}

Expected<Process> Process::spawn(const std::vector<std::string> &Arguments,
                                 const std::vector<std::string> &Environment) {
  std::vector<char *> Argv, Envp;
  for (const std::string &A : Arguments)
    Argv.push_back(const_cast<char *>(A.c_str()));
  Argv.push_back(nullptr);
  // Ours first: the first of two variables with one name counts.
  for (const std::string &E : Environment)
    Envp.push_back(const_cast<char *>(E.c_str()));
  for (char **E = environ; *E; ++E)
    Envp.push_back(*E);
  Envp.push_back(nullptr);

  int Ends[2];
  if (::pipe2(Ends, O_CLOEXEC) != 0)
    return lastError("pipe");
  File Read = aboveStandard(File(Ends[0])),
       Write = aboveStandard(File(Ends[1]));
  if (!Read || !Write)
    return lastError("pipe");

  posix_spawn_file_actions_t Actions;
  posix_spawn_file_actions_init(&Actions);
  posix_spawn_file_actions_adddup2(&Actions, Read.get(), STDIN_FILENO);
  if (::fcntl(STDERR_FILENO, F_GETFD) >= 0)
    posix_spawn_file_actions_adddup2(&Actions, STDERR_FILENO, STDOUT_FILENO);
  else
    posix_spawn_file_actions_addopen(&Actions, STDOUT_FILENO, "/dev/null",
                                     O_WRONLY, 0);
  posix_spawnattr_t Attributes;
  posix_spawnattr_init(&Attributes);
  posix_spawnattr_setflags(&Attributes, POSIX_SPAWN_SETPGROUP |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&Attributes, 0);
  sigset_t Signals;
  sigemptyset(&Signals);
  posix_spawnattr_setsigmask(&Attributes, &Signals);
  sigfillset(&Signals);
  posix_spawnattr_setsigdefault(&Attributes, &Signals);

  pid_t Id = -1;
  int Error = ::posix_spawnp(&Id, Argv[0], &Actions, &Attributes, Argv.data(),
                             Envp.data());
  posix_spawnattr_destroy(&Attributes);
  posix_spawn_file_actions_destroy(&Actions);
  if (Error) {
    errno = Error;
    return lastError("cannot start '" + Arguments[0] + "'");
  }
  return Process(Id, std::move(Write));
}

std::optional<std::string> Process::exited() {
  if (Id < 0)
    return "ended";
  siginfo_t Info = {};
  int Result;
  do
    Result = ::waitid(P_PID, id_t(Id), &Info, WEXITED | WNOHANG | WNOWAIT);
  while (Result != 0 && errno == EINTR);
  if (Result == 0 && Info.si_pid == 0)
    return std::nullopt;
  if (Result == 0) {
    // Not reaped yet, so that its group's number is still ours.
    ::kill(-Id, SIGKILL);
    ::waitpid(Id, nullptr, 0);
  }
  Id = -1;
  if (Result != 0)
    return "ended"; // somebody else's SIGCHLD handler was faster
  return (Info.si_code == CLD_EXITED ? "exit status " : "signal ") +
         std::to_string(Info.si_status);
}

void Process::end(std::chrono::nanoseconds Grace) {
  Lifeline.close();
  if (Id < 0 || Owner != ::getpid())
    return;
  pid_t Group = Id;
  Deadline Until = Deadline::in(Grace);
  Backoff Wait;
  while (!exited())
    if (!Wait.pause(Until)) {
      ::kill(-Group, SIGKILL);
      ::kill(Group, SIGKILL); // it may have left its group
      Until = Deadline::never();
    }
}

} // namespace cbridge::os
