//===- FloatText.cpp - Floats as decimal text, fast -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// std::to_chars finds the shortest text, which is what most of the time of a
// JSON message goes into. Nine digits can be had by one multiplication: their
// error is at most 0.5000003 units of the ninth digit, that is 0.6e-8 of the
// value, and half the distance between neighbouring floats is at least 2.9e-8
// of it.
//
//===----------------------------------------------------------------------===//
#include "core/FloatText.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cbridge {

namespace {

// 10^-22 to 10^39, each rounded correctly because it is a literal.
constexpr int LeastPower = -22;
constexpr double Powers[] = {
    1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14, 1e-13, 1e-12,
    1e-11, 1e-10, 1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,
    1e0,   1e1,   1e2,   1e3,   1e4,   1e5,   1e6,   1e7,   1e8,   1e9,   1e10,
    1e11,  1e12,  1e13,  1e14,  1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21,
    1e22,  1e23,  1e24,  1e25,  1e26,  1e27,  1e28,  1e29,  1e30,  1e31,  1e32,
    1e33,  1e34,  1e35,  1e36,  1e37,  1e38,  1e39};

constexpr double power(int Exponent) { return Powers[Exponent - LeastPower]; }

/// Halfway between two floats: a reader that sees all digits could round to the
/// other one.
bool isFloatMidpoint(double D) {
  uint64_t Bits;
  std::memcpy(&Bits, &D, sizeof(Bits));
  return (Bits & 0x1FFFFFFF) == 0x10000000;
}

constexpr auto Pairs = [] {
  std::array<char, 200> Text{};
  for (size_t I = 0; I < 100; ++I) {
    Text[2 * I] = char('0' + I / 10);
    Text[2 * I + 1] = char('0' + I % 10);
  }
  return Text;
}();

/// The nine digits of Number, leading zeros included.
void nineDigits(uint32_t Number, char *To) {
  size_t Low = Number % 10000, Rest = Number / 10000;
  size_t Middle = Rest % 10000, First = Rest / 10000;
  To[0] = char('0' + First);
  std::memcpy(To + 1, &Pairs[Middle / 100 * 2], 2);
  std::memcpy(To + 3, &Pairs[Middle % 100 * 2], 2);
  std::memcpy(To + 5, &Pairs[Low / 100 * 2], 2);
  std::memcpy(To + 7, &Pairs[Low % 100 * 2], 2);
}

/// The nearest integer; being off where two are equally near does no harm.
uint32_t nearest(double Positive) {
  double Above = Positive + 0.5;
  return static_cast<uint32_t>(Above);
}

/// Whether Hundredthousandths is Size's value to a reader.
bool reads(uint32_t Hundredthousandths, float Size) {
  // Nearly right, which rules out most, before the division.
  if (static_cast<float>(Hundredthousandths * 1e-5) != Size)
    return false;
  double Exact = Hundredthousandths / 1e5;
  return static_cast<float>(Exact) == Size && !isFloatMidpoint(Exact);
}

/// d.dddd × 10^Exponent without zeros at the end, in plain or e-notation.
/// Random numbers defeat branch prediction, so copies are of constant size
/// instead and write more than is used.
char *writeDecimal(char *To, uint32_t NineDigits, int Exponent) {
  constexpr int Zeros = 5;
  char Text[Zeros + 9 + 16];
  std::memset(Text, '0', Zeros);
  char *Digits = Text + Zeros;
  nineDigits(NineDigits, Digits);
  int Count = 9;
  while (Count > 1 && Digits[Count - 1] == '0')
    --Count;
  if (Exponent < -Zeros || Exponent > 8) {
    To[0] = Digits[0];
    To[1] = '.';
    std::memcpy(To + 2, Digits + 1, 8);
    To += Count > 1 ? Count + 1 : 1;
    *To++ = 'e';
    return std::to_chars(To, To + 4, Exponent).ptr;
  }
  // Below one, zeros come first.
  int Leading = Exponent < 0 ? -Exponent : 0;
  int Whole = Exponent < 0 ? 1 : Exponent + 1;
  Digits -= Leading;
  Count += Leading;
  std::memcpy(To, Digits, 16);
  if (Count <= Whole)
    return To + Whole;
  To[Whole] = '.';
  std::memcpy(To + Whole + 1, Digits + Whole, 16);
  return To + Count + 1;
}

/// Eight characters, of which digits have become 0 to 9.
uint64_t loadDigits(const char *From) {
  uint64_t Text;
  std::memcpy(&Text, From, sizeof(Text));
  return Text ^ 0x3030303030303030;
}

/// The high bit of each byte that is no digit; right up to the first of them.
uint64_t nonDigits(uint64_t Digits) {
  return (Digits | (Digits + 0x7676767676767676)) & 0x8080808080808080;
}

/// The number that eight digits make.
uint64_t numberOf(uint64_t Digits) {
  Digits = Digits * 10 + (Digits >> 8); // pairs, in every other byte
  return (((Digits & 0x000000FF000000FF) * (100 + (1000000ULL << 32))) +
          (((Digits >> 16) & 0x000000FF000000FF) * (1 + (10000ULL << 32)))) >>
         32;
}

/// What writeFloat mostly makes: d.dddddddd and up to seven digits more, with
/// no branch that depends on how many. False for everything else.
bool readCommonFloat(const char *&From, const char *End, float &Value) {
  if (End - From < 20)
    return false;
  const char *At = From;
  uint32_t Negative = *At == '-';
  At += Negative;
  uint64_t First = loadDigits(At + 2), Rest = loadDigits(At + 10);
  uint64_t Stop = nonDigits(Rest);
  if (unsigned(At[0] - '0') > 9 || At[1] != '.' || nonDigits(First) || !Stop)
    return false;
  int More = __builtin_ctzll(Stop) / 8;
  if (At[10 + More] == 'e' || At[10 + More] == 'E')
    return false;
  // Shifting puts zeros in front; in two steps, since More may be 0.
  uint64_t Mantissa = uint64_t(At[0] - '0') * 100'000'000 + numberOf(First);
  Mantissa = Mantissa * uint64_t(power(More)) +
             numberOf((Rest << 8) << (8 * (7 - More)));
  // Both are exact as doubles, so that one division rounds right.
  if (Mantissa > uint64_t(1) << 53)
    return false;
  double Exact = double(int64_t(Mantissa)) / power(8 + More);
  if (isFloatMidpoint(Exact))
    return false;
  Value = static_cast<float>(Negative ? -Exact : Exact);
  From = At + 10 + More;
  return true;
}

} // namespace

bool readFloat(const char *&From, const char *End, float &Value) {
  if (readCommonFloat(From, End, Value))
    return true;
  auto [Rest, Error] = std::from_chars(From, End, Value);
  if (Error != std::errc())
    return false;
  From = Rest;
  return true;
}

char *writeFloat(char *To, float Value) {
  float Size = std::fabs(Value);
  // Zero, and what the powers of ten do not cover.
  if (!(Size >= 1e-30f && Size < 1e30f))
    return std::to_chars(To, To + FloatTextRoom, Value).ptr;
  *To = '-';
  To += std::signbit(Value);
  double Exact = Size;

  // 0.1f is 0.1 to people, not 0.100000001.
  if (Size >= 1e-4f && Size < 1e4f) {
    uint32_t Scaled = nearest(Exact * 1e5);
    if (reads(Scaled, Size)) {
      int Exponent = 3; // of the first of nine digits, dddd.ddddd
      for (; Scaled < 100'000'000; Scaled *= 10)
        --Exponent;
      return writeDecimal(To, Scaled, Exponent);
    }
  }

  uint32_t Bits;
  std::memcpy(&Bits, &Size, sizeof(Bits));
  int Binary = int(Bits >> 23) - 127;
  int Exponent = (Binary * 1233) >> 12; // floor of Binary × log10(2)
  Exponent += Exact * power(8 - Exponent) >= 999'999'999.5;
  double Scaled = Exact * power(8 - Exponent);
  return writeDecimal(To, nearest(Scaled), Exponent);
}

} // namespace cbridge
