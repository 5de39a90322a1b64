//===- Binding.h - The Python module's parts --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PYTHON_BINDING_H
#define CBRIDGE_PYTHON_BINDING_H

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <nanobind/nanobind.h>

#include <functional>
#include <tuple>

namespace cbridge::python {

namespace nb = nanobind;

/// Throws the Python exception for a failure.
[[noreturn]] void raise(const Status &Why);
inline void check(const Status &S) {
  if (!S.ok())
    raise(S);
}
template <typename T> T take(Expected<T> E) {
  if (!E)
    raise(E.status());
  return std::move(*E);
}

/// Throws a Python exception of this class.
[[noreturn]] void raise(PyObject *Class, const std::string &Text);

/// Text in both directions. Bytes that are no UTF-8 survive, the way they do in
/// Python's file names.
nb::str decode(std::string_view Text);
std::string encode(nb::handle Text);

/// Specs as Python passes them: [(name, type, shape), …].
std::vector<TensorSpec> toSpecs(nb::handle List);
nb::list fromSpecs(const std::vector<TensorSpec> &Specs);

/// A NumPy array over V's elements, which Owner keeps alive; a (nested) list of
/// str for strings.
nb::object toPython(const TensorView &V, nb::handle Owner,
                    bool ReadOnly = false);
/// The same with elements of its own.
nb::object copyToPython(const TensorView &V);

/// Where a Python value goes.
struct Destination {
  std::function<Status(Span<const int64_t>)> Resize;
  std::function<MutableBytes()> Data;
  std::function<Status(Span<const std::string_view>, Span<const int64_t>)>
      SetStrings;
};
/// Writes a number, str, array or (nested) list to a tensor. Values are kept
/// exactly, or it throws; what names the tensor in the message.
void assign(nb::handle Value, const TensorSpec &Spec, const char *What,
            const Destination &To);
/// The common case of a Python number for a one-element tensor; false if it is
/// not that.
bool assignNumber(nb::handle Value, const TensorSpec &Spec, const char *What,
                  MutableBytes To);

void bindBatch(nb::module_ &M);
void bindInteractive(nb::module_ &M);
void bindLog(nb::module_ &M);
void bindPeer(nb::module_ &M);
void bindRequest(nb::module_ &M);
void bindRunner(nb::module_ &M);

} // namespace cbridge::python

#endif // CBRIDGE_PYTHON_BINDING_H
