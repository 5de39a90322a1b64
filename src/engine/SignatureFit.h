//===- SignatureFit.h - A pass's tensors and a model's ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_SIGNATUREFIT_H
#define CBRIDGE_ENGINE_SIGNATUREFIT_H

#include <cbridge/Signature.h>

namespace cbridge {

/// Which tensors of a model belong to which of the pass that uses it: those of
/// the same name. Types must be equal. Shapes may differ in leading extents of
/// 1, which models often have for batches, and a dynamic extent fits any; so a
/// fixed extent of the model may still be missed when it runs.
///
/// The pass may offer features that the model does not know, and need not want
/// all of its outputs.
struct SignatureFit {
  /// Of each input of the model: the feature that fills it.
  std::vector<size_t> Inputs;
  /// Of each decision that the pass wants: the model's output.
  std::vector<size_t> Outputs;

  /// Fails with a message that names all that do not fit, and the two sides as
  /// given.
  static Expected<SignatureFit> of(const Signature &Pass,
                                   const Signature &Model,
                                   const std::string &PassName = "the pass",
                                   const std::string &ModelName = "the model");
};

/// Writes From as a tensor of To.size() extents has it: leading ones are added
/// or left out.
void alignExtents(Span<const int64_t> From, Span<int64_t> To);

} // namespace cbridge

#endif // CBRIDGE_ENGINE_SIGNATUREFIT_H
