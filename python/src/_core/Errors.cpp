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

nb::str decode(std::string_view Text) {
  PyObject *S = PyUnicode_DecodeUTF8(Text.data(), Py_ssize_t(Text.size()),
                                     "surrogateescape");
  if (!S)
    throw nb::python_error();
  return nb::steal<nb::str>(S);
}

std::string encode(nb::handle Text) {
  if (!PyUnicode_Check(Text.ptr()))
    raise(PyExc_TypeError,
          std::string("expected str, got ") + Py_TYPE(Text.ptr())->tp_name);
  Py_ssize_t Size = 0;
  if (const char *Utf8 = PyUnicode_AsUTF8AndSize(Text.ptr(), &Size))
    return {Utf8, size_t(Size)};
  PyErr_Clear();
  PyObject *Encoded =
      PyUnicode_AsEncodedString(Text.ptr(), "utf-8", "surrogateescape");
  if (!Encoded)
    throw nb::python_error();
  nb::bytes Bytes = nb::steal<nb::bytes>(Encoded);
  return {Bytes.c_str(), Bytes.size()};
}

void raise(PyObject *Class, const std::string &Text) {
  PyErr_SetObject(Class, decode(Text).ptr());
  throw nb::python_error();
}

void raise(const Status &Why) {
  if (Why.code() == StatusCode::InvalidArgument)
    raise(PyExc_ValueError, Why.message());
  nb::object Class = errorClass(
      Why.code() == StatusCode::Timeout ? "BridgeTimeout" : "BridgeError");
  nb::object Error =
      Class(nb::str(toString(Why.code())), decode(Why.message()));
  PyErr_SetObject(Class.ptr(), Error.ptr());
  throw nb::python_error();
}

} // namespace cbridge::python
