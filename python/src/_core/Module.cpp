//===- Module.cpp - The Python module -------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

NB_MODULE(_core, M) {
  // A daemon thread may hold objects when the interpreter ends.
  nanobind::set_leak_warnings(false);
  cbridge::python::bindRequest(M);
  cbridge::python::bindInteractive(M);
  cbridge::python::bindLog(M);
  cbridge::python::bindPeer(M);
  cbridge::python::bindBatch(M);
  cbridge::python::bindRunner(M);
}
