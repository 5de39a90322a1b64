//===- InferExtents.h - Shapes from numbers of elements ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_RUNNER_INFEREXTENTS_H
#define CBRIDGE_RUNNER_INFEREXTENTS_H

#include <cbridge/TensorSpec.h>

namespace cbridge {

/// The shape that Count elements give a tensor with at most one dynamic extent;
/// false if there is none.
bool inferExtents(const TensorSpec &Spec, size_t Count,
                  int64_t (&Extents)[MaxRank]);

} // namespace cbridge

#endif // CBRIDGE_RUNNER_INFEREXTENTS_H
