//===- Dot.h - The benchmark's model ----------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_DOT_H
#define CBRIDGE_BENCH_DOT_H

#include <cbridge/Span.h>

#include <cmath>
#include <cstdint>

namespace bench {

/// Weight I of the fully connected layer; _rtt_peer.py has the same.
inline float weight(uint64_t I) {
  return float(double((I * 2654435761u) % 4294967296u) / 4294967296.0 - 0.5);
}

/// Thirty-two partial sums, so that the compiler can vectorize.
inline float dot(cbridge::Span<const float> X) {
  static const auto *const Weights = [] {
    auto *W = new float[50'000];
    for (uint64_t I = 0; I < 50'000; ++I)
      W[I] = weight(I);
    return W;
  }();
  float Sums[32] = {};
  size_t I = 0;
  for (; I + 32 <= X.size(); I += 32)
    for (size_t J = 0; J < 32; ++J)
      Sums[J] += Weights[I + J] * X[I + J];
  for (; I < X.size(); ++I)
    Sums[0] += Weights[I] * X[I];
  float Total = 0;
  for (float S : Sums)
    Total += S;
  return Total;
}

/// Whether Y is X's dot product, up to rounding.
inline bool isDot(float Y, cbridge::Span<const float> X) {
  float Expected = dot(X);
  return std::fabs(Y - Expected) <= 1e-3f * (1 + std::fabs(Expected));
}

} // namespace bench

#endif // CBRIDGE_BENCH_DOT_H
