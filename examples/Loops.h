//===- Loops.h - The demo's loops and what they cost ------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_EXAMPLES_LOOPS_H
#define CBRIDGE_EXAMPLES_LOOPS_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace demo {

/// The unroll factors to choose from.
constexpr std::array<int, 5> Factors = {1, 2, 4, 8, 16};

struct Loop {
  std::string Name;
  /// Trip count, instructions, loads, stores, branches, reduction (0 or 1).
  std::array<float, 6> Features;

  float trip() const { return Features[0]; }
  float body() const { return Features[1]; }
};

/// A toy machine: two loads, one store and four instructions per cycle, three
/// cycles to come round, chains of four cycles per accumulator, and a small
/// instruction cache.
inline double cycles(const Loop &L, int Factor) {
  auto [Trip, Body, Loads, Stores, Branches, Reduction] = L.Features;
  double Once = std::max({Body / 4.0, Loads / 2.0, double(Stores)});
  double Chain = Reduction != 0 ? 4.0 / std::min(Factor, 4) : 0;
  double Unrolled = Factor * std::max(Once, Chain) + 3 + Branches * Factor;
  double Bytes = 4.0 * Body * Factor;
  double Misses = std::max(0.0, Bytes - 1024) / 64 * 6;
  double Rounds = std::floor(Trip / Factor);
  double Rest = Trip - Rounds * Factor;
  double Epilogue = Rest * (std::max(Once, Reduction != 0 ? 4.0 : 0.0) + 3);
  return Rounds * Unrolled + Epilogue + Misses * 20 + 2.0 * Factor;
}

/// What compilers do: as much as fits a size budget.
inline int64_t heuristic(const Loop &L) {
  int64_t Choice = 0;
  for (size_t I = 0; I < Factors.size(); ++I)
    if (float(Factors[I]) * L.body() <= 32 && float(Factors[I]) <= L.trip())
      Choice = int64_t(I);
  return Choice;
}

inline std::vector<Loop> readLoops(const std::string &Path) {
  std::vector<Loop> Loops;
  std::ifstream File(Path);
  for (std::string Line; std::getline(File, Line);) {
    std::istringstream Words(Line);
    Loop L;
    if (Line.empty() || Line[0] == '#' || !(Words >> L.Name))
      continue;
    for (float &F : L.Features)
      Words >> F;
    Loops.push_back(L);
  }
  return Loops;
}

} // namespace demo

#endif // CBRIDGE_EXAMPLES_LOOPS_H
