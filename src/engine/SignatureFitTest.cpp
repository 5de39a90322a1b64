//===- SignatureFitTest.cpp - Tests of SignatureFit -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/SignatureFit.h"

#include <gtest/gtest.h>

using namespace cbridge;

namespace {

TensorSpec floats(std::string Name, std::vector<int64_t> Shape) {
  return TensorSpec::create<float>(std::move(Name), std::move(Shape));
}

bool fit(const std::vector<int64_t> &Pass, const std::vector<int64_t> &Model) {
  TensorSpec Y = floats("y", {1});
  return bool(
      SignatureFit::of({{floats("x", Pass)}, Y}, {{floats("x", Model)}, Y}));
}

std::vector<int64_t> aligned(std::vector<int64_t> From, size_t Rank) {
  std::vector<int64_t> To(Rank, -7);
  alignExtents(From, To);
  return To;
}

std::string why(const Signature &Pass, const Signature &Model) {
  Expected<SignatureFit> Fit = SignatureFit::of(Pass, Model);
  return Fit ? "" : Fit.status().toString();
}

} // namespace

TEST(SignatureFitTest, ByNameInAnyOrder) {
  Signature Pass({floats("c", {1}), floats("a", {2}), floats("b", {3})},
                 {floats("z", {1}), floats("y", {1})});
  Signature Model({floats("a", {2}), floats("b", {3})},
                  {floats("x", {9}), floats("y", {1}), floats("z", {1})});
  Expected<SignatureFit> Fit = SignatureFit::of(Pass, Model);
  ASSERT_TRUE(Fit) << Fit.status().toString();
  EXPECT_EQ(Fit->Inputs, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(Fit->Outputs, (std::vector<size_t>{2, 1}));
}

TEST(SignatureFitTest, ShapesUpToLeadingOnes) {
  EXPECT_TRUE(fit({4}, {4}));
  EXPECT_TRUE(fit({4}, {1, 4}));
  EXPECT_TRUE(fit({1, 1, 4}, {4}));
  EXPECT_TRUE(fit({}, {1}));
  EXPECT_TRUE(fit({1}, {}));
  EXPECT_TRUE(fit({4}, {Dynamic, 4}));
  EXPECT_TRUE(fit({Dynamic, 4}, {7, 4}));
  EXPECT_FALSE(fit({4}, {4, 1}));
  EXPECT_FALSE(fit({4}, {2, 4}));
  EXPECT_FALSE(fit({8}, {2, 4}));
  EXPECT_FALSE(fit({2, 4}, {4, 2}));
}

TEST(SignatureFitTest, Alignment) {
  EXPECT_EQ(aligned({4}, 3), (std::vector<int64_t>{1, 1, 4}));
  EXPECT_EQ(aligned({1, 4}, 1), (std::vector<int64_t>{4}));
  EXPECT_EQ(aligned({}, 2), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(aligned({1}, 0), (std::vector<int64_t>{}));
}

TEST(SignatureFitTest, EverythingThatDoesNotFitIsNamed) {
  Signature Pass({TensorSpec::create<int64_t>("a"), floats("b", {3})},
                 floats("y", {2}));
  Signature Model({floats("a", {1}), floats("b", {4}), floats("c", {5})},
                  floats("z", {2}));
  EXPECT_EQ(why(Pass, Model),
            "type_mismatch: input 'a': the model wants float[1], the pass "
            "gives int64_t[1]; input 'b': the model wants float[4], the pass "
            "gives float[3]; input 'c': the model wants float[5], the pass has "
            "no such feature; output 'y': the pass wants it, the model has "
            "'z'");
}

TEST(SignatureFitTest, ManyComplaintsAreCounted) {
  std::vector<TensorSpec> Wanted;
  for (char Name = 'a'; Name <= 'g'; ++Name)
    Wanted.push_back(floats(std::string(1, Name), {1}));
  std::string Why = why(Signature({}, floats("y", {1})),
                        Signature(std::move(Wanted), floats("y", {1})));
  EXPECT_NE(Why.find("input 'd'"), Why.npos) << Why;
  EXPECT_EQ(Why.find("input 'e'"), Why.npos) << Why;
  EXPECT_EQ(Why.substr(Why.size() - 12), "; and 3 more") << Why;
}
