//===- AllocationCount.cpp - How often memory was asked for ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"

#include <atomic>
#include <cerrno>

static std::atomic<size_t> Count{0};

size_t bench::allocationCount() { return Count.load(); }

// glibc lets a program put its own functions in front of its allocator's.
extern "C" {
void *__libc_malloc(size_t Size);
void *__libc_calloc(size_t Number, size_t Size);
void *__libc_realloc(void *Old, size_t Size);
void *__libc_memalign(size_t Alignment, size_t Size);

void *malloc(size_t Size) {
  Count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(Size);
}
void *calloc(size_t Number, size_t Size) {
  Count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(Number, Size);
}
void *realloc(void *Old, size_t Size) {
  Count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(Old, Size);
}
void *aligned_alloc(size_t Alignment, size_t Size) {
  Count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(Alignment, Size);
}
}
