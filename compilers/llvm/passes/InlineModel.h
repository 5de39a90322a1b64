//===- InlineModel.h - The inlining model of a process ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_INLINEMODEL_H
#define CBRIDGE_PASSES_INLINEMODEL_H

#include "InlineFeatures.h"

namespace cbridge::passes {

/// The inlining model that the settings name. Opened for the first module that
/// is inlined, shared by all threads, never destroyed: compilers end, and
/// unload their plugins, as they like.
class InlineModel {
public:
  static const InlineModel &ofProcess();

  /// Whether any call should be brought before it. Not if it was closed or
  /// could not be opened: LLVM's default advisor is then no worse, and exactly
  /// what a compiler without this plugin has. `heuristic:` has nothing to be
  /// asked, unless its decisions are to be recorded.
  bool wantsCalls() const;
  /// The model failed in a way that it will not recover from.
  bool isLost() const;

  const Model &model() const { return *Opened; }
  const ExtraFeatures &extras() const { return Extras; }
  bool hasScore() const { return Score; }
  /// How many features a remark names; 0: decisions are not explained.
  unsigned explain() const { return Explain; }

private:
  InlineModel();
  void open(const std::string &Text);
  void readExplain(const std::string &Text, const RunnerString &R);

  std::optional<Model> Opened;
  ExtraFeatures Extras;
  unsigned Explain = 0;
  bool Score = false, Records = false;
};

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_INLINEMODEL_H
