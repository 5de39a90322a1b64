//===- LeakSanitizer.cpp - What TFLite never frees ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// For tests that load TFLite: it leaks a byte as soon as it is used. What
/// leaks in our own code is reported as ever.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) const char *
__lsan_default_suppressions();
extern "C" __attribute__((visibility("default"))) const char *
__lsan_default_options();

const char *__lsan_default_suppressions() { return "leak:tensorflowlite\n"; }

/// There are tests that nothing is printed.
const char *__lsan_default_options() { return "print_suppressions=0"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
