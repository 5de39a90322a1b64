//===- TensorSpecTest.cpp - Tests of tensor specs -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/TensorSpec.h>

#include <gtest/gtest.h>

#include <limits>

using namespace cbridge;

static constexpr int64_t Huge = std::numeric_limits<int64_t>::max();

TEST(TensorSpecTest, NumbersNamesAndSizesOfTypes) {
  const struct {
    const char *Name;
    size_t Size;
  } Types[] = {{"bool", 1},     {"int8_t", 1},   {"int16_t", 2},
               {"int32_t", 4},  {"int64_t", 8},  {"uint8_t", 1},
               {"uint16_t", 2}, {"uint32_t", 4}, {"uint64_t", 8},
               {"float", 4},    {"double", 8},   {"string", 0}};
  for (size_t I = 0; I < std::size(Types); ++I) {
    auto Type = static_cast<ElementType>(I);
    EXPECT_EQ(toString(Type), Types[I].Name);
    EXPECT_EQ(sizeOf(Type), Types[I].Size) << Types[I].Name;
    Expected<ElementType> Parsed = parseElementType(Types[I].Name);
    ASSERT_TRUE(Parsed) << Types[I].Name;
    EXPECT_EQ(*Parsed, Type) << Types[I].Name;
  }
}

TEST(TensorSpecTest, UnknownTypeIsNamed) {
  for (const char *Name : {"int", "", "Float", "float ", "f32"})
    EXPECT_EQ(parseElementType(Name).status().toString(),
              "invalid_argument: '" + std::string(Name) +
                  "' is no element type");
}

TEST(TensorSpecTest, TypesGoByWidthAndSignedness) {
  static_assert(elementTypeOf<bool>() == ElementType::Bool);
  static_assert(elementTypeOf<signed char>() == ElementType::Int8);
  static_assert(elementTypeOf<unsigned char>() == ElementType::UInt8);
  static_assert(elementTypeOf<short>() == ElementType::Int16);
  static_assert(elementTypeOf<unsigned>() == ElementType::UInt32);
  static_assert(elementTypeOf<long>() == ElementType::Int64);
  static_assert(elementTypeOf<long long>() == ElementType::Int64);
  static_assert(elementTypeOf<unsigned long>() == ElementType::UInt64);
  static_assert(elementTypeOf<float>() == ElementType::Float);
  static_assert(elementTypeOf<double>() == ElementType::Double);
  static_assert(!isElement<long double>() && !isElement<char *>());
}

TEST(TensorSpecTest, CreateTakesTheTypeFromCxx) {
  TensorSpec Spec = TensorSpec::create<int64_t>("x");
  EXPECT_EQ(Spec, TensorSpec("x", ElementType::Int64, {1}));
  EXPECT_EQ(TensorSpec::create<std::string>("s", {}).type(),
            ElementType::String);
}

TEST(TensorSpecTest, EqualityNeedsNameTypeAndShape) {
  TensorSpec Spec("x", ElementType::Float, {2, 3});
  EXPECT_EQ(Spec, TensorSpec("x", ElementType::Float, {2, 3}));
  EXPECT_NE(Spec, TensorSpec("y", ElementType::Float, {2, 3}));
  EXPECT_NE(Spec, TensorSpec("x", ElementType::Double, {2, 3}));
  EXPECT_NE(Spec, TensorSpec("x", ElementType::Float, {3, 2}));
  EXPECT_NE(Spec, TensorSpec("x", ElementType::Float, {2, 3, 1}));
}

TEST(TensorSpecTest, FixedMeansNeitherDynamicNorStrings) {
  EXPECT_TRUE(TensorSpec::create<float>("x", {2, 3}).isFixed());
  EXPECT_TRUE(TensorSpec::create<float>("x", {}).isFixed());
  EXPECT_FALSE(TensorSpec::create<float>("x", {2, Dynamic}).isFixed());
  EXPECT_FALSE(TensorSpec::create<std::string>("x", {1}).isFixed());
}

TEST(TensorSpecTest, CountsElements) {
  EXPECT_EQ(TensorSpec::create<float>("x", {}).elementCount(), 1u);
  EXPECT_EQ(TensorSpec::create<float>("x", {2, 3}).elementCount(), 6u);
  EXPECT_EQ(TensorSpec::create<float>("x", {2, 0}).elementCount(), 0u);
  EXPECT_EQ(TensorSpec::create<float>("x", {2, Dynamic}).elementCount(), 0u);
}

TEST(TensorSpecTest, TextOfTypeAndShape) {
  EXPECT_EQ(TensorSpec::create<bool>("x", {}).typeAndShape(), "bool");
  EXPECT_EQ(TensorSpec::create<int64_t>("x").typeAndShape(), "int64_t[1]");
  EXPECT_EQ(TensorSpec::create<float>("x", {Dynamic, 300}).typeAndShape(),
            "float[?,300]");
}

TEST(TensorSpecTest, ValidSpecs) {
  for (const std::vector<int64_t> &Shape : {std::vector<int64_t>{},
                                            {0},
                                            {Dynamic, Dynamic},
                                            {1, 1, 1, 1, 1, 1, 1},
                                            {2, 2, 2, 2, 2, 2, 2, 2},
                                            {0, 1 << 20, 1 << 20}})
    EXPECT_TRUE(TensorSpec::create<float>("x", Shape).validate().ok())
        << TensorSpec::create<float>("x", Shape).typeAndShape();
}

TEST(TensorSpecTest, InvalidSpecsAreExplained) {
  EXPECT_EQ(TensorSpec::create<float>("").validate().toString(),
            "invalid_argument: a tensor of type float[1] has no name");
  EXPECT_EQ(TensorSpec::create<float>("x", std::vector<int64_t>(9, 1))
                .validate()
                .toString(),
            "shape_mismatch: 'x': rank 9 is above 8");
  EXPECT_EQ(TensorSpec::create<float>("x", {3, -2}).validate().toString(),
            "shape_mismatch: 'x': extent -2 is neither -1 nor at least 0");
  EXPECT_EQ(
      TensorSpec::create<float>("x", {Dynamic, Huge}).validate().toString(),
      "shape_mismatch: 'x': shape [9223372036854775807] is too large");
  EXPECT_EQ(TensorSpec::create<float>("x", {1 << 30, 1 << 30, Dynamic})
                .validate()
                .code(),
            StatusCode::ShapeMismatch);
}

TEST(TensorSpecTest, ExtentsMustFitTheShape) {
  TensorSpec Spec = TensorSpec::create<float>("x", {Dynamic, 3});
  EXPECT_TRUE(Spec.checkExtents({0, 3}).ok());
  EXPECT_TRUE(Spec.checkExtents({7, 3}).ok());
  EXPECT_EQ(Spec.checkExtents({7, 4}).toString(),
            "shape_mismatch: 'x': is float[?,3], got shape [7,4]");
  EXPECT_FALSE(Spec.checkExtents({7}).ok());
  EXPECT_FALSE(Spec.checkExtents({7, 3, 1}).ok());
  EXPECT_FALSE(Spec.checkExtents({-1, 3}).ok());
  EXPECT_TRUE(TensorSpec::create<float>("x", {}).checkExtents({}).ok());
}

TEST(TensorSpecTest, ElementCountChecksEveryExtent) {
  EXPECT_EQ(elementCount({}).valueOr(0), 1u);
  EXPECT_EQ(elementCount({2, 3, 4}).valueOr(0), 24u);
  EXPECT_EQ(elementCount({1 << 20, 1 << 20, 0}).valueOr(1), 0u);
  // No elements, but extents that make a loop over them endless.
  EXPECT_FALSE(elementCount({Huge, Huge, 0}));
  EXPECT_FALSE(elementCount({Huge, 0}));
  EXPECT_EQ(elementCount({Huge, 2}).status().code(), StatusCode::ShapeMismatch);
  EXPECT_EQ(elementCount({Huge, Huge}).status().code(),
            StatusCode::ShapeMismatch);
  EXPECT_EQ(elementCount({0, -1}).status().code(), StatusCode::ShapeMismatch);
  // Eight bytes per element still fit in an int64_t.
  Expected<size_t> Most = elementCount({Huge / 16});
  ASSERT_TRUE(Most);
  EXPECT_LE(*Most, size_t(Huge) / 8);
  EXPECT_FALSE(elementCount({Huge / 16 + 1}));
}
