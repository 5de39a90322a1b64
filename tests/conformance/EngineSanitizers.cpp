//===- EngineSanitizers.cpp - What sanitizers cannot judge in engines -----===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The libraries that engines load were built without sanitizers.
//
//===----------------------------------------------------------------------===//

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char *__tsan_default_suppressions();

/// ThreadSanitizer does not see the atomics that order what such a library
/// does, but sees what it does by calls such as memcpy: leaves out reports with
/// the library in one of their stacks.
extern "C" const char *__tsan_default_suppressions() {
  return "race:libonnxruntime.so\n";
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
