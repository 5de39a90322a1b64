//===- TensorMemory.h - Where tensors may lie -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TENSOR_TENSORMEMORY_H
#define CBRIDGE_TENSOR_TENSORMEMORY_H

#include "os/Region.h"

#include <cbridge/TensorStorage.h>

namespace cbridge {

/// Memory in which a TensorStorage lies, if not in ordinary one.
class TensorMemory {
public:
  virtual ~TensorMemory() = default;
  /// Addresses of Size bytes, or of fewer if there are no more. Keeps the
  /// memory alive.
  virtual Expected<os::Region> reserve(size_t Size) = 0;
};

/// What a TensorStorage of Specs will reserve, one after the other: all fixed
/// tensors together, if there are any, and then each of the others.
struct TensorPlan {
  explicit TensorPlan(const std::vector<TensorSpec> &Specs);
  size_t FixedBytes = 0;
  size_t Growing = 0;
};

} // namespace cbridge

#endif // CBRIDGE_TENSOR_TENSORMEMORY_H
