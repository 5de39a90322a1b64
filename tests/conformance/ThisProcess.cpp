//===- ThisProcess.cpp - What a test process looks like -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ThisProcess.h"

#include "os/File.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<sanitizer/allocator_interface.h>)
#include <sanitizer/allocator_interface.h>
#define CBRIDGE_HAS_SANITIZER_ALLOCATOR 1
#endif
#endif

namespace cbridge::conformance {

std::vector<std::string> filesIn(const std::string &Directory) {
  std::vector<std::string> Names;
  for (const auto &Entry : std::filesystem::directory_iterator(Directory))
    Names.push_back(Entry.path().filename());
  return Names;
}

size_t openFiles() { return filesIn("/proc/self/fd").size(); }

size_t threads() { return filesIn("/proc/self/task").size(); }

size_t mappings(std::string_view Of) {
  std::ifstream Maps("/proc/self/maps");
  size_t Count = 0;
  for (std::string Line; std::getline(Maps, Line);)
    Count += Line.find(Of) != std::string::npos;
  return Count;
}

size_t heapInUse() {
#ifdef CBRIDGE_HAS_SANITIZER_ALLOCATOR
  if constexpr (Sanitized)
    return __sanitizer_get_current_allocated_bytes();
#endif
  struct mallinfo2 Info = ::mallinfo2();
  return Info.uordblks + Info.hblkhd;
}

int waitForExit(pid_t Child) {
  Deadline Until = Deadline::in(std::chrono::seconds(30));
  os::Backoff Pause;
  int Code = 0;
  while (::waitpid(Child, &Code, WNOHANG) == 0)
    if (!Pause.pause(Until)) {
      ADD_FAILURE() << "process " << Child << " does not end";
      ::kill(Child, SIGKILL);
      ::waitpid(Child, &Code, 0);
      break;
    }
  return WIFSIGNALED(Code) ? -WTERMSIG(Code) : WEXITSTATUS(Code);
}

pid_t forkToRun(const std::function<int()> &Body) {
  pid_t Child = ::fork();
  if (Child == 0)
    ::_exit(Body());
  EXPECT_GT(Child, 0);
  return Child;
}

} // namespace cbridge::conformance
