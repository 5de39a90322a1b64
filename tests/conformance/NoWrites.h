//===- NoWrites.h - A process that may not write files ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_NOWRITES_H
#define CBRIDGE_TESTS_CONFORMANCE_NOWRITES_H

namespace cbridge::conformance {

/// From now on this process exits, with a line on stderr, when it opens a file
/// for writing or changes a folder, wherever that is. False if the system does
/// not have that.
bool forbidWrites();

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_NOWRITES_H
