//===- Module.cpp - The Python module -------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

NB_MODULE(_core, M) {
  cbridge::python::bindPeer(M);
  cbridge::python::bindRunner(M);
}
