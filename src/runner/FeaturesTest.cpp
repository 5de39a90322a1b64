//===- FeaturesTest.cpp - Tests of setting features by name ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runner/TestEngine.h"

#include <array>
#include <deque>
#include <list>

using namespace cbridge;

/// A tensor as text: "[2,3] 1 2 3 4 5 6".
static std::string textOf(const TensorView &V) {
  std::string Text = "[";
  for (size_t D = 0; D < V.Extents.size(); ++D)
    Text += (D ? "," : "") + std::to_string(V.Extents[D]);
  Text += "]";
  size_t Size = sizeOf(V.Spec->type());
  for (size_t I = 0; I < V.elementCount(); ++I)
    Text += ' ' + (V.Spec->isString()
                       ? std::string(V.string(I))
                       : Number::load(V.Spec->type(), V.Data.data() + I * Size)
                             .toString());
  return Text;
}

static Model openEcho(TensorSpec Feature, std::string &Seen) {
  return openTest(
      {{std::move(Feature)}, TensorSpec::create<bool>("d")},
      [&Seen](const TensorStorage &Inputs, TensorStorage &, const Call &) {
        Seen = textOf(Inputs.view(0));
        return Status();
      });
}

/// What the engine sees in feature 'x' of type T and Shape after it was set to
/// Value, or what evaluate says if that was a mistake.
template <typename T, typename V>
static std::string set(std::vector<int64_t> Shape, const V &Value) {
  std::string Seen;
  Model M = openEcho(TensorSpec::create<T>("x", std::move(Shape)), Seen);
  MLModelRunner R = M.runner();
  R.populateFeatures(std::pair<const char *, const V &>("x", Value));
  Expected<Decision> D = R.evaluate();
  return D ? Seen : D.status().toString();
}

using Floats = std::vector<float>;
using Rows = std::vector<Floats>;

TEST(FeaturesTest, ScalarsConvertWhereTheValueIsKept) {
  EXPECT_EQ(set<int64_t>({1}, 12), "[1] 12");
  EXPECT_EQ(set<int64_t>({}, 12), "[] 12");
  EXPECT_EQ(set<int64_t>({1, 1}, 12), "[1,1] 12");
  EXPECT_EQ(set<int64_t>({Dynamic}, 12), "[1] 12");
  EXPECT_EQ(set<float>({1}, 3.5), "[1] 3.5");
  EXPECT_EQ(set<double>({1}, 3), "[1] 3");
  EXPECT_EQ(set<int64_t>({1}, 3.0), "[1] 3");
  EXPECT_EQ(set<bool>({1}, true), "[1] 1");
  EXPECT_EQ(set<bool>({1}, 1), "[1] 1");
  EXPECT_EQ(set<uint64_t>({1}, ~uint64_t(0)), "[1] 18446744073709551615");
  EXPECT_EQ(set<int32_t>({1}, 'a'), "[1] 97");
}

TEST(FeaturesTest, ScalarsThatWouldChangeAreRefused) {
  auto Refused = [](const char *Value, const char *Type) {
    return std::string("type_mismatch: feature 'x': ") + Value +
           " cannot be kept exactly as " + Type;
  };
  EXPECT_EQ(set<int64_t>({1}, 3.5), Refused("3.5", "int64_t"));
  EXPECT_EQ(set<int8_t>({1}, 300), Refused("300", "int8_t"));
  EXPECT_EQ(set<uint32_t>({1}, -1), Refused("-1", "uint32_t"));
  EXPECT_EQ(set<double>({1}, (int64_t(1) << 53) + 1),
            Refused("9007199254740993", "double"));
  EXPECT_EQ(set<bool>({1}, 2), Refused("2", "bool"));
  EXPECT_EQ(set<float>({1}, 1e300), Refused("1e+300", "float"));
}

TEST(FeaturesTest, ScalarsNeedRoomForOneElement) {
  EXPECT_EQ(set<int64_t>({2}, 1), "shape_mismatch: feature 'x' is int64_t[2], "
                                  "got 1 elements");
  EXPECT_EQ(set<float>({Dynamic, 300}, 1.0f),
            "shape_mismatch: feature 'x' is float[?,300], got 1 elements");
  EXPECT_EQ(set<std::string>({1}, 7),
            "type_mismatch: feature 'x' holds strings, got 7");
}

TEST(FeaturesTest, EnumerationsAreScalars) {
  enum Opcode { Add, Mul };
  enum class Kind : uint8_t { Leaf = 200 };
  EXPECT_EQ(set<int64_t>({1}, Mul), "[1] 1");
  EXPECT_EQ(set<uint8_t>({1}, Kind::Leaf), "[1] 200");
  EXPECT_EQ(set<int8_t>({1}, Kind::Leaf),
            "type_mismatch: feature 'x': 200 cannot be kept exactly as int8_t");
}

TEST(FeaturesTest, Strings) {
  EXPECT_EQ(set<std::string>({1}, "literal"), "[1] literal");
  EXPECT_EQ(set<std::string>({}, std::string("s")), "[] s");
  EXPECT_EQ(set<std::string>({Dynamic}, std::string_view("view")), "[1] view");
  EXPECT_EQ(set<std::string>({2}, std::vector<std::string>{"a", "b"}),
            "[2] a b");
  EXPECT_EQ(
      set<std::string>({Dynamic}, std::array<const char *, 3>{"a", "", "c"}),
      "[3] a  c");
  EXPECT_EQ(set<std::string>({Dynamic}, std::vector<std::string_view>{}),
            "[0]");
  EXPECT_EQ(
      set<std::string>({2, 2}, std::vector<const char *>{"a", "b", "c", "d"}),
      "[2,2] a b c d");
}

TEST(FeaturesTest, StringsInTheWrongPlaceAreRefused) {
  EXPECT_EQ(set<int64_t>({1}, "12"),
            "type_mismatch: feature 'x' is int64_t[1], got strings");
  EXPECT_EQ(set<std::string>({2}, "one"),
            "shape_mismatch: feature 'x' is string[2], got 1 strings");
}

TEST(FeaturesTest, RangesOfTheElementType) {
  const int64_t Raw[] = {1, 2, 3};
  EXPECT_EQ(set<int64_t>({3}, std::vector<int64_t>{1, 2, 3}), "[3] 1 2 3");
  EXPECT_EQ(set<int64_t>({3}, std::array<int64_t, 3>{1, 2, 3}), "[3] 1 2 3");
  EXPECT_EQ(set<int64_t>({3}, Span<const int64_t>(Raw)), "[3] 1 2 3");
  EXPECT_EQ(set<int64_t>({3}, std::list<int64_t>{1, 2, 3}), "[3] 1 2 3");
  EXPECT_EQ(set<int64_t>({3}, std::deque<int64_t>{1, 2, 3}), "[3] 1 2 3");
  EXPECT_EQ(set<int64_t>({3}, std::initializer_list<int64_t>{1, 2, 3}),
            "[3] 1 2 3");
  EXPECT_EQ(set<int64_t>({3}, std::vector<long long>{1, 2, 3}), "[3] 1 2 3");
  EXPECT_EQ(set<bool>({3}, std::vector<bool>{true, false, true}), "[3] 1 0 1");
  EXPECT_EQ(set<bool>({2}, std::array<bool, 2>{true, false}), "[2] 1 0");
  EXPECT_EQ(set<float>({2, 2}, Floats{1, 2, 3, 4}), "[2,2] 1 2 3 4");
}

TEST(FeaturesTest, RangesDoNotConvert) {
  EXPECT_EQ(set<int64_t>({3}, std::vector<int32_t>{1, 2, 3}),
            "type_mismatch: feature 'x' is int64_t[3], got int32_t");
  EXPECT_EQ(set<float>({1}, std::vector<double>{1}),
            "type_mismatch: feature 'x' is float[1], got double");
  EXPECT_EQ(set<std::string>({1}, Floats{1}),
            "type_mismatch: feature 'x' is string[1], got float");
}

TEST(FeaturesTest, RangesMustFillTheShape) {
  EXPECT_EQ(set<float>({3}, Floats{1, 2}),
            "shape_mismatch: feature 'x' is float[3], got 2 elements");
  EXPECT_EQ(set<float>({3}, Floats{1, 2, 3, 4}),
            "shape_mismatch: feature 'x' is float[3], got 4 elements");
  EXPECT_EQ(set<float>({0}, Floats{}), "[0]");
}

TEST(FeaturesTest, OneDynamicExtentFollowsFromTheCount) {
  EXPECT_EQ(set<float>({Dynamic}, Floats{1, 2}), "[2] 1 2");
  EXPECT_EQ(set<float>({Dynamic}, Floats{}), "[0]");
  EXPECT_EQ(set<float>({Dynamic, 3}, Floats{1, 2, 3, 4, 5, 6}),
            "[2,3] 1 2 3 4 5 6");
  EXPECT_EQ(set<float>({2, Dynamic}, Floats{1, 2, 3, 4}), "[2,2] 1 2 3 4");
  EXPECT_EQ(set<float>({Dynamic, 300}, Floats(600, 1)).substr(0, 9),
            "[2,300] 1");
  EXPECT_EQ(set<float>({Dynamic, 300}, Floats(601)),
            "shape_mismatch: feature 'x' is float[?,300], got 601 elements");
  EXPECT_EQ(set<float>({Dynamic, 0}, Floats{}), "[0,0]");
  EXPECT_EQ(set<float>({Dynamic, 0}, Floats{1}),
            "shape_mismatch: feature 'x' is float[?,0], got 1 elements");
  EXPECT_EQ(set<float>({Dynamic, Dynamic}, Floats{1, 2}),
            "shape_mismatch: feature 'x' is float[?,?], got 2 elements");
}

TEST(FeaturesTest, MatricesHaveAShape) {
  EXPECT_EQ(set<float>({Dynamic, Dynamic}, Rows{{1, 2, 3}, {4, 5, 6}}),
            "[2,3] 1 2 3 4 5 6");
  EXPECT_EQ(set<float>({Dynamic, 2}, Rows{{1, 2}}), "[1,2] 1 2");
  EXPECT_EQ(set<float>({2, 2}, Rows{{1, 2}, {3, 4}}), "[2,2] 1 2 3 4");
  EXPECT_EQ(set<int8_t>({2, 2},
                        std::array<std::array<int8_t, 2>, 2>{{{1, 2}, {3, 4}}}),
            "[2,2] 1 2 3 4");
  EXPECT_EQ(set<bool>({Dynamic, Dynamic},
                      std::vector<std::vector<bool>>{{true}, {false}}),
            "[2,1] 1 0");
  EXPECT_EQ(set<float>({Dynamic, Dynamic}, Rows{}), "[0,0]");
  EXPECT_EQ(set<float>({Dynamic, 300}, Rows{}), "[0,300]");
  EXPECT_EQ(set<float>({Dynamic, Dynamic}, Rows{{}, {}}), "[2,0]");
}

TEST(FeaturesTest, MatricesOfOtherShapesAreRefused) {
  EXPECT_EQ(set<float>({Dynamic, 3}, Rows{{1, 2}}),
            "shape_mismatch: 'x': is float[?,3], got shape [1,2]");
  EXPECT_EQ(set<float>({2, 2}, Rows{{1, 2}}),
            "shape_mismatch: 'x': is float[2,2], got shape [1,2]");
  EXPECT_EQ(set<float>({4}, Rows{{1, 2}, {3, 4}}),
            "shape_mismatch: 'x': is float[4], got shape [2,2]");
  EXPECT_EQ(set<double>({2, 2}, Rows{{1, 2}, {3, 4}}),
            "type_mismatch: feature 'x' is double[2,2], got float");
}

TEST(FeaturesTest, RaggedMatricesAreRefused) {
  EXPECT_EQ(set<float>({Dynamic, Dynamic}, Rows{{1, 2}, {3}}),
            "shape_mismatch: feature 'x': row 1 has 1 elements, row 0 has 2");
  EXPECT_EQ(set<float>({Dynamic, Dynamic}, Rows{{1}, {2}, {3, 4, 5, 6}}),
            "shape_mismatch: feature 'x': row 2 has 4 elements, row 0 has 1");
}

TEST(FeaturesTest, TooLargeIsAnErrorNotACrash) {
  std::string Seen;
  Model M = openEcho(TensorSpec::create<uint8_t>("x", {Dynamic}), Seen);
  MLModelRunner R = M.runner();
  R.resize(0, {(int64_t(1) << 30) + 1});
  EXPECT_EQ(R.evaluate().status().code(), StatusCode::OutOfMemory);
}

TEST(FeaturesTest, DynamicFeaturesChangeSizeBetweenDecisions) {
  std::string Seen;
  Model M = openEcho(TensorSpec::create<float>("x", {Dynamic}), Seen);
  MLModelRunner R = M.runner();
  ASSERT_TRUE(R.evaluate());
  EXPECT_EQ(Seen, "[0]");
  for (const auto &[Value, Text] :
       {std::pair(Floats{1, 2, 3}, "[3] 1 2 3"), std::pair(Floats{}, "[0]"),
        std::pair(Floats{4}, "[1] 4")}) {
    R.populateFeatures(std::pair{"x", Value});
    ASSERT_TRUE(R.evaluate());
    EXPECT_EQ(Seen, Text);
  }
}
