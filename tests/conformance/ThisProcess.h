//===- ThisProcess.h - What a test process looks like -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_THISPROCESS_H
#define CBRIDGE_TESTS_CONFORMANCE_THISPROCESS_H

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace cbridge::conformance {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool Sanitized = true;
#elif defined(__has_feature)
constexpr bool Sanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool Sanitized = false;
#endif

/// Names in a directory.
std::vector<std::string> filesIn(const std::string &Directory);
/// Descriptors of this process.
size_t openFiles();
size_t threads();
/// Lines of /proc/self/maps; those with a part of a file's name.
size_t mappings(std::string_view Of = "");
/// Bytes that have been allocated and not freed.
size_t heapInUse();

/// An end that a test runs in a process of its own: the exit status, or minus
/// the signal. Kills it if it does not end.
int waitForExit(pid_t Child);
/// Forks; the child exits with what Body returns and never comes back.
pid_t forkToRun(const std::function<int()> &Body);

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_THISPROCESS_H
