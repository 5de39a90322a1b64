//===- OnnxFile.h - What an ONNX file says about itself ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_ONNXFILE_H
#define CBRIDGE_ENGINE_ONNX_ONNXFILE_H

#include <cbridge/Expected.h>
#include <cbridge/Signature.h>

#include <optional>
#include <set>
#include <string>

namespace cbridge::onnx {

/// What we read of an ONNX file ourselves: ONNX Runtime neither minds weights
/// that are not finite nor tells which part of a broken file is broken.
struct OnnxFile {
  /// Larger ones cannot be: a protobuf message has at most 2 GiB.
  static constexpr size_t MaxSize = (size_t(1) << 31) - 1;

  /// `cbridge.signature` of the metadata.
  std::optional<Signature> Declared;
  /// Graph inputs and outputs without a shape: of any rank.
  std::set<std::string> Shapeless;
  /// It uses operators of `compiler_bridge`.
  bool UsesOurOperators = false;
  /// Weights lie in other files, beside this one.
  bool HasExternalData = false;

  /// Checks the structure and the weights. The messages name the culprit, not
  /// the file.
  static Expected<OnnxFile> parse(Bytes Content);
};

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_ONNXFILE_H
