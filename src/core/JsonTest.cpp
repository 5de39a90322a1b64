//===- JsonTest.cpp - Tests of reading and writing JSON -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "core/Json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

using namespace cbridge;

template <typename T> static std::optional<T> number(std::string_view Text) {
  JsonReader Reader(Text);
  T Value{};
  if (!Reader.number(Value) || !Reader.atEnd()) {
    EXPECT_EQ(Reader.status().code(), StatusCode::Protocol) << Text;
    return std::nullopt;
  }
  return Value;
}

static std::optional<std::string> string(std::string_view Text) {
  JsonReader Reader(Text);
  std::string Value;
  if (!Reader.string(Value) || !Reader.atEnd()) {
    EXPECT_EQ(Reader.status().code(), StatusCode::Protocol) << Text;
    return std::nullopt;
  }
  return Value;
}

static bool isValue(std::string_view Text) {
  JsonReader Reader(Text);
  return Reader.skipValue() && Reader.atEnd();
}

static std::string inQuotes(std::string_view Text) {
  std::string To;
  appendJsonString(To, Text);
  return To;
}

TEST(JsonTest, Integers) {
  EXPECT_EQ(number<int64_t>(" -9223372036854775808 "),
            std::numeric_limits<int64_t>::min());
  EXPECT_EQ(number<uint64_t>("18446744073709551615"),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(number<int8_t>("127"), 127);
  for (const char *Text : {"128", "-129", "1.5", "1e2", "+1", "", "x", "\"1\"",
                           "- 1", "--1", "0x1", "true", "1 2"})
    EXPECT_EQ(number<int8_t>(Text), std::nullopt) << Text;
  EXPECT_EQ(number<uint8_t>("-1"), std::nullopt);
}

TEST(JsonTest, Reals) {
  EXPECT_EQ(number<double>("0.1"), 0.1);
  EXPECT_EQ(number<double>("-1.5E+3"), -1500.0);
  EXPECT_EQ(number<double>("5e-324"), 5e-324);
  EXPECT_EQ(number<float>("1e-45"), 1e-45f);
  EXPECT_EQ(number<float>("16777216"), 16777216.0f);
  EXPECT_TRUE(std::signbit(*number<double>("-0")));
  for (const char *Text :
       {"", "-", "inf", "-inf", "nan", "-nan", "NaN", "Infinity", "-Infinity",
        "-infinity", ".5", "-.5", "+1", "0x1p3", "1e999", "1e", "\"nan\""})
    EXPECT_EQ(number<double>(Text), std::nullopt) << Text;
  EXPECT_EQ(number<float>("1e39"), std::nullopt);
}

TEST(JsonTest, NumbersThatJsonLacksAreStrings) {
  EXPECT_TRUE(std::isnan(*number<double>("\"NaN\"")));
  EXPECT_EQ(number<double>(" \"Infinity\""),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(number<float>("\"-Infinity\""),
            -std::numeric_limits<float>::infinity());
  EXPECT_EQ(number<int64_t>("\"NaN\""), std::nullopt);
}

TEST(JsonTest, Booleans) {
  bool Value = false;
  EXPECT_TRUE(JsonReader("true").boolean(Value) && Value);
  EXPECT_TRUE(JsonReader(" false").boolean(Value) && !Value);
  for (const char *Text : {"", "tru", "1", "\"true\"", "True"})
    EXPECT_FALSE(JsonReader(Text).boolean(Value)) << Text;
}

TEST(JsonTest, StringEscapes) {
  EXPECT_EQ(string(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(string(R"("\u0041\u00e9\u20AC")"), "A\xc3\xa9\xe2\x82\xac");
  EXPECT_EQ(string(R"("\ud83d\ude00")"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(string(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(string("\"\xff\x7f\""), "\xff\x7f");
}

TEST(JsonTest, MalformedStringsAreRefused) {
  for (const char *Text :
       {"", "a", "\"", "\"a", "\"\\", "\"\\\"", "\"\\x\"", "\"\\u12\"",
        "\"\\u12g4\"", "\"\\u+123\"", "\"\\u-001\"", "\"\n\"", "\"\x1f\"",
        R"("\ud83d")", R"("\ud83dx")", R"("\ud83d\n")", R"("\ud83d\u0041")",
        R"("\ude00")", "'a'"})
    EXPECT_EQ(string(Text), std::nullopt) << Text;
}

TEST(JsonTest, EveryByteSurvivesQuoting) {
  std::string All;
  for (int Byte = 0; Byte < 256; ++Byte)
    All += static_cast<char>(Byte);
  EXPECT_EQ(string(inQuotes(All)), All);
  EXPECT_EQ(inQuotes("a\"b\\c\nd\x01"), R"("a\"b\\c\nd\u0001")");
}

TEST(JsonTest, ObjectsGiveTheirMembersInOrder) {
  JsonReader Reader(R"( { "a" : 1 , "b\n" : 2 } )");
  std::string Keys;
  int Sum = 0;
  EXPECT_TRUE(Reader.object([&](std::string_view Key) {
    Keys += Key;
    int Value = 0;
    bool Read = Reader.number(Value);
    Sum += Value;
    return Read;
  }));
  EXPECT_TRUE(Reader.atEnd());
  EXPECT_EQ(Keys, "ab\n");
  EXPECT_EQ(Sum, 3);
}

TEST(JsonTest, SkipsAnyValue) {
  for (const char *Text :
       {"{}", "[]", "null", "true", "false", "-1.5e3", "\"x\\n\"",
        R"({"a":[1,{"b":null}],"c":""})", " [ [ ] , [ ] ] "})
    EXPECT_TRUE(isValue(Text)) << Text;
  for (const char *Text :
       {"", "{", "[", "{]", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{a:1}",
        "{\"a\":1,}", "nul", "tru", "1 1", "[}", "x", "-", "[,]"})
    EXPECT_FALSE(isValue(Text)) << Text;
}

TEST(JsonTest, NestingHasALimit) {
  auto Nested = [](size_t Depth) {
    return std::string(Depth, '[') + std::string(Depth, ']');
  };
  EXPECT_TRUE(isValue(Nested(60)));
  EXPECT_FALSE(isValue(Nested(70)));
  EXPECT_FALSE(isValue(std::string(1 << 20, '[')));
}

TEST(JsonTest, TheFirstFailureStays) {
  JsonReader Reader("[1, x]");
  EXPECT_FALSE(Reader.skipValue());
  EXPECT_TRUE(Reader.failed());
  Status First = Reader.status();
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "JSON, byte 4:", First.message());
  std::string Value;
  EXPECT_FALSE(Reader.string(Value));
  EXPECT_FALSE(Reader.accept(']'));
  EXPECT_FALSE(Reader.atEnd());
  EXPECT_EQ(Reader.status().message(), First.message());
}

TEST(JsonTest, TextAfterTheEndIsRefused) {
  JsonReader Reader("{} {}");
  EXPECT_TRUE(Reader.skipValue());
  EXPECT_FALSE(Reader.atEnd());
  EXPECT_EQ(Reader.status().toString(),
            "protocol: JSON, byte 3: unexpected text at the end");
}
