//===- Errors.cpp - Statuses as Python exceptions -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

namespace cbridge::python {

/// Looked up when needed: Python owns the class.
static nb::object errorClass(const char *Name) {
  return nb::module_::import_("compiler_bridge.errors").attr(Name);
}

void raise(const Status &Why) {
  if (Why.code() == StatusCode::InvalidArgument) {
    PyErr_SetString(PyExc_ValueError, Why.message().c_str());
    throw nb::python_error();
  }
  nb::object Class = errorClass(
      Why.code() == StatusCode::Timeout ? "BridgeTimeout" : "BridgeError");
  nb::object Error =
      Class(nb::str(toString(Why.code())), nb::str(Why.message().c_str()));
  PyErr_SetObject(Class.ptr(), Error.ptr());
  throw nb::python_error();
}

} // namespace cbridge::python
