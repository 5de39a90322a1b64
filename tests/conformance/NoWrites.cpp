//===- NoWrites.cpp - A process that may not write files ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "NoWrites.h"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cbridge::conformance {

/// Those that change a folder, or open a file to be written only.
static constexpr uint32_t Changes[] = {
#ifdef SYS_open // older ones, which new architectures do not have
    SYS_creat,     SYS_mkdir,   SYS_rename,    SYS_unlink,
    SYS_rmdir,     SYS_symlink, SYS_link,      SYS_mknod,
#endif
    SYS_mkdirat,   SYS_mknodat, SYS_renameat2, SYS_unlinkat,
    SYS_symlinkat, SYS_linkat,  SYS_truncate};

static void tell(int, siginfo_t *Info, void *) {
  char Line[80];
  int Size = std::snprintf(Line, sizeof(Line),
                           "system call %d would change the file system\n",
                           Info->si_syscall);
  (void)!::write(2, Line, size_t(Size));
  ::_exit(1);
}

bool forbidWrites() {
  struct sigaction Action = {};
  Action.sa_sigaction = tell;
  Action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSYS, &Action, nullptr);

  auto Load = [](size_t At) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(At));
  };
  constexpr size_t Arguments = offsetof(seccomp_data, args);
  // After each comparison that holds: on to the next line, else skip so many.
  auto Unless = [](uint32_t Value, uint8_t Skip) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, Value, 0, Skip);
  };
  const sock_filter Trap = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
  const sock_filter Allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  std::vector<sock_filter> Program = {Load(offsetof(seccomp_data, nr))};
  for (uint32_t Call : Changes) {
    Program.push_back(Unless(Call, 1));
    Program.push_back(Trap);
  }
  auto CheckFlags = [&](uint32_t Call, size_t Flags) {
    Program.push_back(Unless(Call, 4));
    Program.push_back(Load(Arguments + Flags * sizeof(uint64_t)));
    Program.push_back(
        sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                             O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1));
    Program.push_back(Trap);
    Program.push_back(Allow);
  };
#ifdef SYS_open
  CheckFlags(SYS_open, 1);
#endif
  CheckFlags(SYS_openat, 2);
  Program.push_back(Allow);
  const sock_fprog Filter = {static_cast<unsigned short>(Program.size()),
                             Program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &Filter) == 0;
}

} // namespace cbridge::conformance
