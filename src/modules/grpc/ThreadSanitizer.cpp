//===- ThreadSanitizer.cpp - Options for programs with gRPC in them -------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// For tests. ThreadSanitizer sees every memcpy and free of a gRPC that was
/// built without it, but not the locks around them. Our own code, which was, is
/// checked as ever.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) const char *
__tsan_default_options();

const char *__tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
