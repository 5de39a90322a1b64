//===- Explanation.h - Which features moved a decision ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_EXPLANATION_H
#define CBRIDGE_PASSES_EXPLANATION_H

#include <cbridge/MLModelRunner.h>

namespace cbridge::passes {

/// One feature's part in a decision.
struct Influence {
  std::string_view Feature; ///< lives as long as the model
  double Value;
  /// What the score loses if the feature is 0; without a score, 1 if the
  /// decision changes.
  double Moved;
};

/// Explains decisions by occlusion: asks again with one feature after the other
/// set to 0. Has a runner of its own, so that the decision's stays as it is.
class Explainer {
public:
  explicit Explainer(const Model &M) : Runner(M.runner()) {}

  /// Up to Most features without which From's latest answer would have been
  /// another, the most important first.
  std::vector<Influence> explain(MLModelRunner &From, size_t Most);

private:
  /// The score if the model has one, else the decision.
  Expected<double> answer();

  MLModelRunner Runner;
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_EXPLANATION_H
