//===- ObjectFileFuzzer.cpp - Fuzzes the reader of objects ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ObjectFile.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  auto Sizes = cbridge::driver::ObjectSizes::of({Data, Size});
  // Each section has at most all bytes, and a header of 40 at least.
  if (Sizes && Sizes->Loaded > uint64_t(Size) * (Size / 40))
    std::abort();
  return 0;
}
