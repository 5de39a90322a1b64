//===- NumberTest.cpp - Tests of value-preserving conversion --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Number.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

using namespace cbridge;

template <typename T> static constexpr T Max = std::numeric_limits<T>::max();
template <typename T> static constexpr T Min = std::numeric_limits<T>::min();
static constexpr double Infinity = std::numeric_limits<double>::infinity();
static constexpr int64_t TwoTo53 = int64_t(1) << 53;

template <typename T> static std::optional<T> as(Number N) {
  T Value{};
  return N.to(Value) ? std::optional<T>(Value) : std::nullopt;
}

TEST(NumberTest, IntegersKeepTheirValueOrFail) {
  EXPECT_EQ(as<int64_t>(12), 12);
  EXPECT_EQ(as<int8_t>(-128), -128);
  EXPECT_EQ(as<int8_t>(128), std::nullopt);
  EXPECT_EQ(as<int8_t>(300), std::nullopt);
  EXPECT_EQ(as<int8_t>(200u), std::nullopt);
  EXPECT_EQ(as<uint8_t>(255), 255);
  EXPECT_EQ(as<uint8_t>(256), std::nullopt);
  EXPECT_EQ(as<uint8_t>(-1), std::nullopt);
  EXPECT_EQ(as<uint64_t>(-1), std::nullopt);
  EXPECT_EQ(as<uint64_t>(Min<int64_t>), std::nullopt);
  EXPECT_EQ(as<uint64_t>(Max<uint64_t>), Max<uint64_t>);
  EXPECT_EQ(as<int64_t>(Max<uint64_t>), std::nullopt);
  EXPECT_EQ(as<int64_t>(uint64_t(1) << 63), std::nullopt);
  EXPECT_EQ(as<int64_t>(uint64_t(Max<int64_t>)), Max<int64_t>);
}

TEST(NumberTest, BooleansAreZeroAndOne) {
  EXPECT_EQ(as<bool>(1), true);
  EXPECT_EQ(as<bool>(0.0), false);
  EXPECT_EQ(as<bool>(2), std::nullopt);
  EXPECT_EQ(as<bool>(-1), std::nullopt);
  EXPECT_EQ(as<bool>(0.5), std::nullopt);
  EXPECT_EQ(as<int32_t>(true), 1);
  EXPECT_EQ(as<float>(true), 1.0f);
}

TEST(NumberTest, RealsBecomeIntegersOnlyIfTheyAreIntegers) {
  EXPECT_EQ(as<int64_t>(3.0), 3);
  EXPECT_EQ(as<int64_t>(3.5), std::nullopt);
  EXPECT_EQ(as<uint8_t>(-1.0), std::nullopt);
  EXPECT_EQ(as<uint8_t>(256.0), std::nullopt);
  EXPECT_EQ(as<int64_t>(0x1p63), std::nullopt);
  EXPECT_EQ(as<int64_t>(-0x1p63), Min<int64_t>);
  EXPECT_EQ(as<uint64_t>(0x1p64), std::nullopt);
  EXPECT_EQ(as<int64_t>(Infinity), std::nullopt);
  EXPECT_EQ(as<int64_t>(std::nan("")), std::nullopt);
}

TEST(NumberTest, IntegersBecomeRealsOnlyIfExact) {
  EXPECT_EQ(as<double>(TwoTo53), 0x1p53);
  EXPECT_EQ(as<double>(TwoTo53 + 1), std::nullopt);
  EXPECT_EQ(as<double>(-TwoTo53 - 1), std::nullopt);
  EXPECT_EQ(as<float>((1 << 24) + 1), std::nullopt);
  EXPECT_EQ(as<float>(1 << 24), 0x1p24f);
  EXPECT_EQ(as<double>(Min<int64_t>), -0x1p63);
  // Round up to a power of two that the integer type does not have.
  EXPECT_EQ(as<double>(Max<int64_t>), std::nullopt);
  EXPECT_EQ(as<double>(Max<uint64_t>), std::nullopt);
  EXPECT_EQ(as<float>(Max<uint64_t>), std::nullopt);
}

TEST(NumberTest, DoublesRoundToFloatsButStayFinite) {
  EXPECT_EQ(as<float>(3.5), 3.5f);
  EXPECT_EQ(as<float>(0.1), 0.1f);
  EXPECT_EQ(as<float>(1e-300), 0.0f);
  EXPECT_EQ(as<float>(1e300), std::nullopt);
  EXPECT_EQ(as<float>(Infinity), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(*as<float>(std::nan(""))));
}

TEST(NumberTest, EnumerationsAreTheIntegersBehindThem) {
  enum Color { Red, Green };
  enum class Big : uint64_t { Most = Max<uint64_t> };
  enum class Small : int8_t { Negative = -3 };
  EXPECT_EQ(as<int64_t>(Green), 1);
  EXPECT_EQ(as<uint64_t>(Big::Most), Max<uint64_t>);
  EXPECT_EQ(as<int64_t>(Small::Negative), -3);
}

TEST(NumberTest, LoadReadsWhatStoreWrote) {
  for (int Type = 0; Type < int(ElementType::String); ++Type) {
    unsigned char Raw[8] = {};
    ASSERT_TRUE(Number(1).store(ElementType(Type), Raw));
    EXPECT_EQ(as<double>(Number::load(ElementType(Type), Raw)), 1.0) << Type;
  }
  unsigned char Raw[8];
  ASSERT_TRUE(Number(-2).store(ElementType::Int16, Raw));
  EXPECT_EQ(Number::load(ElementType::Int16, Raw).toString(), "-2");
}

TEST(NumberTest, RefusedStoreWritesNothing) {
  unsigned char Raw[2] = {0xAA, 0xAA};
  EXPECT_FALSE(Number(70000).store(ElementType::UInt16, Raw));
  EXPECT_EQ(Raw[0], 0xAA);
  EXPECT_EQ(Raw[1], 0xAA);
}

TEST(NumberTest, IndicesAreIntegersInRange) {
  EXPECT_TRUE(Number(0).isIndexBelow(1));
  EXPECT_TRUE(Number(2.0).isIndexBelow(3));
  EXPECT_FALSE(Number(3).isIndexBelow(3));
  EXPECT_FALSE(Number(-1).isIndexBelow(3));
  EXPECT_FALSE(Number(1.5).isIndexBelow(3));
  EXPECT_FALSE(Number(std::nan("")).isIndexBelow(3));
}

TEST(NumberTest, Text) {
  EXPECT_EQ(Number(Min<int64_t>).toString(), "-9223372036854775808");
  EXPECT_EQ(Number(Max<uint64_t>).toString(), "18446744073709551615");
  EXPECT_EQ(Number(0.1).toString(), "0.1");
  EXPECT_EQ(Number(-Infinity).toString(), "-inf");
  EXPECT_TRUE(Number(7).isInteger());
  EXPECT_FALSE(Number(7.0).isInteger());
}
