//===- Samples.h - Numbers to try kernels with ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_NATIVE_SAMPLES_H
#define CBRIDGE_TESTS_NATIVE_SAMPLES_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

/// The same numbers on every machine.
class Random {
public:
  uint64_t next() {
    State ^= State << 13;
    State ^= State >> 7;
    State ^= State << 17;
    return State * 0x2545f4914f6cdd1dULL;
  }
  /// From -1 to 1.
  double unit() {
    return static_cast<double>(static_cast<int64_t>(next()) >> 11) * 0x1p-52;
  }
  std::vector<float> floats(int64_t Count) {
    std::vector<float> Values(static_cast<size_t>(Count));
    for (float &Each : Values)
      Each = static_cast<float>(unit());
    return Values;
  }

private:
  uint64_t State = 0x9e3779b97f4a7c15ULL;
};

template <class T> T fromBits(uint64_t Bits) {
  T Value;
  std::memcpy(&Value, &Bits, sizeof(T));
  return Value;
}

/// Special values, any bits, and values of the sizes that models have.
template <class T> std::vector<T> samples(Random &Source, size_t Count) {
  using Limits = std::numeric_limits<T>;
  constexpr T Special[] = {T(0),
                           -T(0),
                           T(1),
                           T(-1),
                           T(0.5),
                           T(-0.5),
                           T(1.5),
                           T(-2.5),
                           T(3),
                           T(-3),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::max(),
                           -Limits::max(),
                           Limits::min(),
                           -Limits::min(),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           T(88.7),
                           T(-87.4),
                           T(-103.9),
                           T(709.7),
                           T(-745.1),
                           T(8388607.5),
                           T(-4194304.5),
                           T(1) + Limits::epsilon(),
                           T(1) - Limits::epsilon()};
  std::vector<T> Values(Special, Special + sizeof(Special) / sizeof(T));
  while (Values.size() < Count) {
    Values.push_back(sizeof(T) == 4 ? fromBits<T>(Source.next() & 0xffffffffu)
                                    : fromBits<T>(Source.next()));
    Values.push_back(static_cast<T>(Source.unit() * 4));
    Values.push_back(static_cast<T>(Source.unit() * 100));
  }
  Values.resize(Count);
  return Values;
}

#endif
