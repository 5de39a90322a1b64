//===- BucketizeTest.cpp - Tests of compiler_bridge::Bucketize ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

using namespace cbridge;

namespace {

using Indices = std::vector<int64_t>;
constexpr auto Inf = std::numeric_limits<double>::infinity();
constexpr auto NaN = std::numeric_limits<double>::quiet_NaN();

std::string fileOf(const std::string &Name) {
  return CBRIDGE_TESTS_DIR "/golden/onnx_ops/bucketize_" + Name + ".onnx";
}

template <typename T> Signature signatureOf() {
  return {{TensorSpec::create<T>("x", {-1}),
           TensorSpec::create<T>("boundaries", {-1})},
          {TensorSpec::create<int64_t>("left", {-1}),
           TensorSpec::create<int64_t>("right", {-1})}};
}

template <typename T> Expected<Model> openModel() {
  TensorSpec Spec = TensorSpec::create<T>("x", {1});
  std::string Type(toString(Spec.type()));
  return Model::open("onnx:" + fileOf(Type) + "?on_error=fail",
                     signatureOf<T>());
}

struct Answer {
  Indices Left, Right;
};

template <typename T>
Expected<Answer> ask(MLModelRunner &R, const std::vector<T> &X,
                     const std::vector<T> &Boundaries) {
  R.populateFeatures(std::pair{"x", X}, std::pair{"boundaries", Boundaries});
  Expected<Decision> D = R.evaluate();
  if (!D)
    return D.status();
  return Answer{*D->get<Indices>(0), *D->get<Indices>(1)};
}

template <typename T>
std::string refusal(MLModelRunner &R, const std::vector<T> &Boundaries) {
  Expected<Answer> A = ask(R, std::vector<T>{1}, Boundaries);
  return A ? "it answers" : A.status().message();
}

/// How many boundaries are below X, or not above it, one by one.
template <typename T>
int64_t count(T X, const std::vector<T> &Boundaries, bool Right) {
  return std::count_if(Boundaries.begin(), Boundaries.end(), [&](T Each) {
    return Right ? !(Each > X) : !(Each >= X);
  });
}

template <typename T> class BucketizeTest : public testing::Test {};
using Types = testing::Types<float, double, int32_t, int64_t>;
TYPED_TEST_SUITE(BucketizeTest, Types, );

} // namespace

TYPED_TEST(BucketizeTest, Ties) {
  Expected<Model> M = openModel<TypeParam>();
  ASSERT_TRUE(M) << M.status().message();
  MLModelRunner R = M->runner();
  auto A = ask<TypeParam>(R, {0, 1, 2, 3, 4, 5, 9}, {1, 2, 2, 4});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Left, (Indices{0, 0, 1, 3, 3, 4, 4}));
  EXPECT_EQ(A->Right, (Indices{0, 1, 3, 3, 4, 4, 4}));
}

TYPED_TEST(BucketizeTest, NothingToSortOrToSortInto) {
  Expected<Model> M = openModel<TypeParam>();
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  auto A = ask<TypeParam>(R, {5, -5}, {});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Left, (Indices{0, 0}));
  EXPECT_EQ(A->Right, (Indices{0, 0}));
  A = ask<TypeParam>(R, {}, {1, 2});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Left, Indices());
  A = ask<TypeParam>(R, {}, {});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Right, Indices());
}

TYPED_TEST(BucketizeTest, Extremes) {
  using Limits = std::numeric_limits<TypeParam>;
  Expected<Model> M = openModel<TypeParam>();
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  auto A = ask<TypeParam>(R, {Limits::lowest(), 0, Limits::max()},
                          {Limits::lowest(), Limits::max()});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Left, (Indices{0, 1, 1}));
  EXPECT_EQ(A->Right, (Indices{1, 1, 2}));
}

TYPED_TEST(BucketizeTest, Random) {
  Expected<Model> M = openModel<TypeParam>();
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  std::mt19937 Random(7);
  auto Draw = [&](size_t Count) {
    std::vector<TypeParam> Made(Count);
    for (TypeParam &Each : Made)
      Each = TypeParam(int(Random() % 41) - 20); // often equal
    return Made;
  };
  for (int Round = 0; Round < 200; ++Round) {
    std::vector<TypeParam> X = Draw(Random() % 30);
    std::vector<TypeParam> Boundaries = Draw(Random() % 30);
    std::sort(Boundaries.begin(), Boundaries.end());
    auto A = ask(R, X, Boundaries);
    ASSERT_TRUE(A) << A.status().message();
    ASSERT_EQ(A->Left.size(), X.size());
    for (size_t I = 0; I < X.size(); ++I) {
      EXPECT_EQ(A->Left[I], count(X[I], Boundaries, false));
      EXPECT_EQ(A->Right[I], count(X[I], Boundaries, true));
    }
  }
}

TYPED_TEST(BucketizeTest, UnsortedBoundariesFailOneEvaluation) {
  Expected<Model> M = openModel<TypeParam>();
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  std::string Why = refusal<TypeParam>(R, {1, 3, 2});
  for (const char *Part : {"bucketize_", ".onnx", "compiler_bridge::Bucketize",
                           "not sorted: [1] is 3, [2] is 2"})
    EXPECT_NE(Why.find(Part), Why.npos) << Why;
  auto A = ask<TypeParam>(R, {2}, {1, 3});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Left, Indices{1});
}

TEST(BucketizeFloatTest, NotANumberAndInfinity) {
  Expected<Model> M = openModel<double>();
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  auto A = ask<double>(R, {NaN, Inf, -Inf, -0.0}, {-Inf, 0, Inf});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Left, (Indices{3, 2, 0, 1}));
  EXPECT_EQ(A->Right, (Indices{3, 3, 1, 2}));
  std::string Why = refusal<double>(R, {0, NaN, 1});
  EXPECT_NE(Why.find("compiler_bridge::Bucketize: boundaries[1] is NaN"),
            Why.npos)
      << Why;
}

TEST(BucketizeFloatTest, LargeIntegersKeepTheirValue) {
  Expected<Model> M = openModel<int64_t>();
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  constexpr int64_t Big = int64_t(1) << 60; // Big + 1 is no double
  auto A = ask<int64_t>(R, {Big, Big + 1}, {Big, Big + 1});
  ASSERT_TRUE(A) << A.status().message();
  EXPECT_EQ(A->Left, (Indices{0, 1}));
  EXPECT_EQ(A->Right, (Indices{1, 2}));
}

TEST(BucketizeShapeTest, ThreeExtents) {
  Expected<Model> M =
      Model::open("onnx:" + fileOf("rank3") + "?on_error=fail",
                  {{TensorSpec::create<float>("x", {-1, 2, -1}),
                    TensorSpec::create<float>("boundaries", {-1})},
                   TensorSpec::create<int64_t>("left", {-1, 2, -1})});
  ASSERT_TRUE(M) << M.status().message();
  MLModelRunner R = M->runner();
  R.resize("x", {2, 2, 3});
  Span<float> X = R.getTensor<float>("x");
  for (size_t I = 0; I < X.size(); ++I)
    X[I] = float(I);
  R.populateFeatures(std::pair{"boundaries", std::vector<float>{2.5, 7}});
  Expected<Decision> D = R.evaluate();
  ASSERT_TRUE(D) << D.status().message();
  Span<const int64_t> Extents = D->tensor(0).Extents;
  EXPECT_EQ(Indices(Extents.begin(), Extents.end()), (Indices{2, 2, 3}));
  EXPECT_EQ(*D->get<Indices>(), (Indices{0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2}));
}

TEST(BucketizeShapeTest, BoundariesWithTwoExtents) {
  Expected<Model> M =
      Model::open("onnx:" + fileOf("boundaries_2d") + "?on_error=fail",
                  {{TensorSpec::create<float>("x", {1}),
                    TensorSpec::create<float>("boundaries", {2, 2})},
                   TensorSpec::create<int64_t>("left", {1})});
  ASSERT_TRUE(M) << M.status().message();
  Expected<int64_t> Refused = M->runner().evaluate<int64_t>();
  ASSERT_FALSE(Refused);
  EXPECT_NE(Refused.status().message().find(
                "compiler_bridge::Bucketize: 'boundaries' has 2 extents"),
            std::string::npos)
      << Refused.status().message();
}

// What is known before the first evaluation is said when a model is opened.
TEST(BucketizeShapeTest, BadModelsAreRefused) {
  auto Type = Model::open("onnx:" + fileOf("int16_t") + "?on_error=fail",
                          signatureOf<int16_t>());
  ASSERT_FALSE(Type);
  EXPECT_NE(Type.status().message().find("Bucketize"), std::string::npos)
      << Type.status().message();
  auto Right = Model::open("onnx:" + fileOf("right_2") + "?on_error=fail",
                           signatureOf<float>());
  ASSERT_FALSE(Right);
  EXPECT_NE(Right.status().message().find(
                "compiler_bridge::Bucketize: attribute 'right' is 2"),
            std::string::npos)
      << Right.status().message();
}

TEST(BucketizeThreadsTest, EightThreadsAskOneModel) {
  Expected<Model> M = openModel<float>();
  ASSERT_TRUE(M);
  std::atomic<int> Wrong = 0;
  std::vector<std::thread> All;
  for (unsigned Thread = 0; Thread < 8; ++Thread)
    All.emplace_back([&, Thread] {
      MLModelRunner R = M->runner();
      std::vector<float> Boundaries;
      for (unsigned I = 0; I <= Thread; ++I)
        Boundaries.push_back(float(I));
      for (int Round = 0; Round < 1000; ++Round) {
        float X = float(Round % 10);
        // Some of the evaluations fail; others must not see that.
        bool Bad = Round % 100 == 99;
        auto A =
            Bad ? ask<float>(R, {X}, {2, 1}) : ask<float>(R, {X}, Boundaries);
        bool Right = Bad ? !A
                         : A && A->Left[0] == count(X, Boundaries, false) &&
                               A->Right[0] == count(X, Boundaries, true);
        Wrong += Right ? 0 : 1;
      }
    });
  for (std::thread &Each : All)
    Each.join();
  EXPECT_EQ(Wrong, 0);
}
