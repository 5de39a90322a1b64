//===- Metered.cpp - Runs a program and tells what it took ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Metered PROGRAM [ARGUMENT...]: prints the seconds that it took by the clock
// and of processors, and its largest resident memory, which a large process
// such as Python cannot tell: the kernel counts what the parent had when it
// started the program. The exit status is the program's.
//
//===----------------------------------------------------------------------===//
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int NotStarted = 127;

double seconds(const timeval &T) {
  return double(T.tv_sec) + double(T.tv_usec) * 1e-6;
}

int fail(const char *What) {
  std::fprintf(stderr, "Metered: %s: %s\n", What, std::strerror(errno));
  return NotStarted;
}

} // namespace

int main(int Count, char **Arguments) {
  if (Count < 2) {
    std::fprintf(stderr, "usage: Metered PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  auto Begin = std::chrono::steady_clock::now();
  pid_t Child = ::fork();
  if (Child < 0)
    return fail("fork");
  if (Child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // whoever loses patience ends both
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(Arguments[1], Arguments + 1);
    ::_exit(fail(Arguments[1]));
  }
  int Status = 0;
  rusage Used{};
  while (::wait4(Child, &Status, 0, &Used) < 0)
    if (errno != EINTR)
      return fail("wait4");
  std::chrono::duration<double> Wall = std::chrono::steady_clock::now() - Begin;
  std::printf("{\"wall_s\": %.6f, \"cpu_s\": %.6f, \"rss_kb\": %ld}\n",
              Wall.count(), seconds(Used.ru_utime) + seconds(Used.ru_stime),
              Used.ru_maxrss);
  return WIFEXITED(Status) ? WEXITSTATUS(Status) : 128 + WTERMSIG(Status);
}
