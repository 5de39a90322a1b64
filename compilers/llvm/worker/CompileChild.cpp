//===- CompileChild.cpp - One compile in a process of its own -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CompileChild.h"

#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/FrontendTool/Utils.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::worker {

namespace {

const char *Program = "clang";

bool runClang(const CompileTask &Task, int Object) {
  std::string Output = "/proc/self/fd/" + std::to_string(Object);
  std::vector<const char *> Words;
  for (const std::string &Word : Task.Arguments)
    Words.push_back(Word.c_str());
  // The last one counts; a file beside the output could not be made.
  for (const char *Word : {"-fno-temp-file", "-o", Output.c_str()})
    Words.push_back(Word);

  clang::CompilerInstance Clang;
  auto *Early = new clang::TextDiagnosticBuffer;
  clang::DiagnosticsEngine Diagnostics(new clang::DiagnosticIDs,
                                       new clang::DiagnosticOptions, Early);
  bool Understood = clang::CompilerInvocation::CreateFromArgs(
      Clang.getInvocation(), Words, Diagnostics, Program);
  Clang.createDiagnostics();
  if (!Clang.hasDiagnostics())
    return false;
  Early->FlushDiagnostics(Clang.getDiagnostics());
  return Understood && clang::ExecuteCompilerInvocation(&Clang);
}

[[noreturn]] void runChild(const CompileTask &Task, int Object, int Printed,
                           pid_t Parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != Parent)
    ::_exit(EXIT_FAILURE);
  int Nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(Nothing, STDIN_FILENO);
  ::dup2(Printed, STDOUT_FILENO);
  ::dup2(Printed, STDERR_FILENO);
  struct rlimit NoCore = {0, 0};
  ::setrlimit(RLIMIT_CORE, &NoCore);
  for (const auto &[Name, Value] : Task.Environment)
    if (Value)
      ::setenv(Name.c_str(), Value->c_str(), 1);
    else
      ::unsetenv(Name.c_str());
  bool Succeeded = runClang(Task, Object);
  llvm::errs().flush();
  // A model's session ends in peace if exit runs what its library asked for.
  std::exit(Succeeded ? EXIT_SUCCESS : EXIT_FAILURE);
}

std::string failureOf(int Status) {
  if (WIFSIGNALED(Status))
    return std::string("ended by signal ") + std::to_string(WTERMSIG(Status)) +
           " (" + ::strsignal(WTERMSIG(Status)) + ")";
  return WEXITSTATUS(Status)
             ? "exit status " + std::to_string(WEXITSTATUS(Status))
             : "";
}

} // namespace

void initializeClang(const char *Argv0) {
  Program = Argv0;
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeAllAsmParsers();
}

CompileResult compile(const CompileTask &Task, int Object, int Printed,
                      int Owner) {
  CompileResult Result;
  pid_t Parent = ::getpid();
  pid_t Child = ::fork();
  if (Child < 0) {
    Result.Failure = os::lastError("fork").message();
    return Result;
  }
  if (Child == 0)
    runChild(Task, Object, Printed, Parent);

  os::File Ended(int(::syscall(SYS_pidfd_open, Child, 0)));
  Deadline Until = Deadline::in(
      std::chrono::milliseconds(static_cast<int64_t>(Task.Seconds * 1000)));
  // The owner writes no next task before this one is answered.
  struct pollfd Watched[] = {{Ended.get(), POLLIN, 0}, {Owner, 0, 0}};
  int Ready;
  do {
    using namespace std::chrono;
    auto Left = ceil<milliseconds>(Until.remaining()).count();
    Ready = ::poll(Watched, 2, int(std::min<int64_t>(Left, INT_MAX)));
  } while (Ready < 0 && errno == EINTR);
  Result.TookTooLong = Ready == 0;
  Result.OwnerGone = Ready > 0 && !Watched[0].revents;
  if (!Watched[0].revents)
    ::kill(Child, SIGKILL);
  int Status = 0;
  struct rusage Usage = {};
  while (::wait4(Child, &Status, 0, &Usage) < 0 && errno == EINTR)
    ;
  auto Seconds = [](const timeval &T) {
    return double(T.tv_sec) + double(T.tv_usec) * 1e-6;
  };
  Result.Seconds = Seconds(Usage.ru_utime) + Seconds(Usage.ru_stime);
  Result.Failure = Result.TookTooLong ? "took too long" : failureOf(Status);
  return Result;
}

} // namespace cbridge::worker
