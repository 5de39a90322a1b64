//===- AllocationCount.h - How often memory was asked for -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_ALLOCATIONCOUNT_H
#define CBRIDGE_BENCH_ALLOCATIONCOUNT_H

#include <cstddef>

namespace bench {

/// Calls of malloc, calloc, realloc and aligned_alloc so far, which includes
/// operator new.
size_t allocationCount();

} // namespace bench

#endif // CBRIDGE_BENCH_ALLOCATIONCOUNT_H
