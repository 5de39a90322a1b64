//===- FloatTextTest.cpp - Tests of FloatText -----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "core/FloatText.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

using namespace cbridge;

static std::string written(float Value) {
  char Text[FloatTextRoom];
  return std::string(Text, writeFloat(Text, Value));
}

TEST(FloatText, IsShortForShortNumbers) {
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(-0.0f), "-0");
  EXPECT_EQ(written(1), "1");
  EXPECT_EQ(written(0.1f), "0.1");
  EXPECT_EQ(written(-2.5f), "-2.5");
  EXPECT_EQ(written(100), "100");
  EXPECT_EQ(written(1e9f), "1e9");
  EXPECT_EQ(written(0.00125f), "0.00125");
}

TEST(FloatText, HasNineDigitsOtherwise) {
  EXPECT_EQ(written(1.0f / 3), "0.333333343");
  EXPECT_EQ(written(3.14159265f), "3.14159274");
  EXPECT_EQ(written(123456792), "123456792");
}

static uint32_t bitsOf(float Value) {
  uint32_t Bits;
  std::memcpy(&Bits, &Value, sizeof(Bits));
  return Bits;
}

static void expectRoundTrip(uint32_t Bits) {
  float Value, Read = 0;
  std::memcpy(&Value, &Bits, sizeof(Value));
  if (!std::isfinite(Value))
    return;
  char Text[FloatTextRoom];
  char *End = writeFloat(Text, Value);
  const char *At = Text;
  ASSERT_TRUE(readFloat(At, End, Read)) << Bits;
  ASSERT_EQ(At, End) << Bits;
  ASSERT_EQ(bitsOf(Read), Bits) << std::string(Text, End);
  // With text behind it the fast way is taken.
  std::string Longer = std::string(Text, End) + ",0.5,0.25,0.125,0.0625";
  At = Longer.data();
  ASSERT_TRUE(readFloat(At, Longer.data() + Longer.size(), Read));
  ASSERT_EQ(*At, ',');
  ASSERT_EQ(bitsOf(Read), Bits) << Longer;
}

TEST(FloatText, SurvivesTheRoundTrip) {
  // A prime step visits all exponents and mantissas of all kinds.
  for (uint64_t Bits = 0; Bits < uint64_t(1) << 32; Bits += 4001)
    expectRoundTrip(uint32_t(Bits));
  // Around powers of two, where the distance to the neighbours changes.
  for (uint32_t Exponent = 0; Exponent < 255; ++Exponent)
    for (int32_t Near = -3; Near <= 3; ++Near)
      expectRoundTrip((Exponent << 23) + uint32_t(Near));
}

TEST(FloatText, ReadsWhatOthersWrite) {
  auto Read = [](std::string Text) {
    Text += ",0,0,0,0,0,0,0,0,0,0,0,0";
    const char *At = Text.data();
    float Value = -1;
    EXPECT_TRUE(readFloat(At, Text.data() + Text.size(), Value)) << Text;
    EXPECT_EQ(*At, ',') << Text;
    return Value;
  };
  EXPECT_EQ(Read("1e-3"), 1e-3f);
  EXPECT_EQ(Read("1.00000000e2"), 100);
  EXPECT_EQ(Read("1.23456789012345678901234567890"), 1.2345679f);
  EXPECT_EQ(Read("9.99999999999999"), 10);
  EXPECT_EQ(Read("1234567.25"), 1234567.25f);
  // Halfway between 1 and its neighbour, and a little above.
  EXPECT_EQ(Read("1.000000059604644775390625"), 1);
  EXPECT_EQ(Read("1.000000059604644775390626"), std::nextafterf(1, 2));
}

TEST(FloatText, RefusesWhatIsNoNumber) {
  for (std::string Text : {"", "-", "x", "+1", ".5"}) {
    const char *At = Text.data();
    float Value = 0;
    EXPECT_FALSE(readFloat(At, Text.data() + Text.size(), Value) &&
                 At == Text.data() + Text.size() && Text[0] != '.')
        << Text;
  }
}
