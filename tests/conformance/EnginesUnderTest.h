//===- EnginesUnderTest.h - The engines that the suite runs over *- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_ENGINESUNDERTEST_H
#define CBRIDGE_TESTS_CONFORMANCE_ENGINESUNDERTEST_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cbridge::conformance {

/// What the suite needs to know of an engine that evaluates in this process.
struct EngineUnderTest {
  std::string_view Name;
  /// The runner string, without options, of a model of ModelsUnderTest.h;
  /// nothing if the engine cannot do what that model does. Every engine has
  /// "affine".
  std::optional<std::string> (*Runner)(const std::string &Model);
  /// What its messages call a model: the file, or what stands for it.
  std::string (*Culprit)(const std::string &Model);
  /// A part of the file's name of what it loads when a model is opened.
  std::string_view Library;
  /// A file says what its model takes and gives (Model::describe).
  bool Describes = false;
};

/// Every engine that evaluates in this process. To join: an entry in
/// EnginesUnderTest.cpp (under CBRIDGE_HAS_... if it is optional, defined in
/// EngineConformance.cmake), and a file for each model, whose answers must be
/// those of Reference.cpp. Where the library cannot be found at test time the
/// suite fails; it does not skip.
const std::vector<EngineUnderTest> &enginesUnderTest();

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_ENGINESUNDERTEST_H
