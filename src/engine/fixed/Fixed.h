//===- Fixed.h - constant: and heuristic: -----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_FIXED_FIXED_H
#define CBRIDGE_ENGINE_FIXED_FIXED_H

#include <cbridge/Registry.h>

namespace cbridge {

/// `constant:V`: every element of every output is V.
Scheme constantScheme();
/// `heuristic:`: no model; the pass decides.
Scheme heuristicScheme();

} // namespace cbridge

#endif // CBRIDGE_ENGINE_FIXED_FIXED_H
