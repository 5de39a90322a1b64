//===- PythonPackage.h - The library of a Python package --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_PYTHONPACKAGE_H
#define CBRIDGE_ENGINE_ONNX_PYTHONPACKAGE_H

#include <string>
#include <vector>

namespace cbridge::onnx {

/// The libraries of the Python packages `onnxruntime` that there are, nearest
/// first: beside our own package, in the virtual environment, the user's, the
/// system's. No interpreter is asked.
std::vector<std::string> pythonOrtFiles();

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_PYTHONPACKAGE_H
