//===- JsonSerializerTest.cpp - Tests of what JSON may say ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "serdes/json/JsonSerializer.h"

#include <gtest/gtest.h>

using namespace cbridge;

/// Decodes Text for `int32_t n` (a scalar) and `float v[?]`.
static std::string decode(std::string_view Text) {
  DecodedTensors To(std::make_shared<std::vector<TensorSpec>>(
      std::vector{TensorSpec::create<int32_t>("n", {}),
                  TensorSpec::create<float>("v", {Dynamic})}));
  Status S = JsonSerializer().decode(
      {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()}, To);
  if (!S)
    return S.toString();
  std::string Values = std::to_string(To.Views[0].as<int32_t>()[0]);
  for (float F : To.Views[1].as<float>())
    Values += " " + std::to_string(int(F));
  return Values;
}

TEST(JsonSerializerTest, MembersMayComeInAnyOrderWithSpace) {
  EXPECT_EQ(decode(R"( { "v" : { "values" : [ 1 , 2.0 ] , "type" : "float" ,
                         "shape" : [ 2 ] } ,
                         "n" : { "shape" : [ ] , "values" : [ 7 ] } } )"),
            "7 1 2");
}

TEST(JsonSerializerTest, UnknownMembersAreSkipped) {
  EXPECT_EQ(decode(R"({"x":{"y":[null]},"n":{"z":1,"shape":[],"values":[7]},)"
                   R"("v":{"shape":[0],"values":[]}})"),
            "7");
}

TEST(JsonSerializerTest, ShapeAndValuesAreNeeded) {
  EXPECT_PRED_FORMAT2(
      testing::IsSubstring, "'n': JSON, byte 19: a tensor needs",
      decode(R"({"n":{"values":[7]},"v":{"shape":[0],"values":[]}})"));
  EXPECT_PRED_FORMAT2(
      testing::IsSubstring, "'v': JSON, byte 48: a tensor needs",
      decode(R"({"n":{"shape":[],"values":[7]},"v":{"shape":[0]}})"));
}

TEST(JsonSerializerTest, TensorsAreNeededOnce) {
  EXPECT_EQ(decode(R"({"n":{"shape":[],"values":[7]}})"),
            "protocol: JSON: 'v' is missing");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "'n': JSON, byte 35: given twice",
                      decode(R"({"n":{"shape":[],"values":[7]},"n":{}})"));
}

TEST(JsonSerializerTest, MismatchesNameTheTensor) {
  EXPECT_EQ(decode(R"({"n":{"type":"int64_t","shape":[],"values":[7]}})"),
            "type_mismatch: 'n': wanted int32_t, got int64_t");
  EXPECT_EQ(decode(R"({"v":{"shape":[3],"values":[1,2]}})"),
            "shape_mismatch: 'v': 2 values do not fill its shape");
  EXPECT_EQ(decode(R"({"v":{"shape":[1,1],"values":[1]}})"),
            "shape_mismatch: 'v': is float[?], got shape [1,1]");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "'n': JSON, byte ",
                      decode(R"({"n":{"shape":[],"values":[2147483648]}})"));
}
