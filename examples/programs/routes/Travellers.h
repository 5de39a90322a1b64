//===- Travellers.h - Who goes where, and how fast --------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ROUTES_TRAVELLERS_H
#define ROUTES_TRAVELLERS_H

#include "Search.h"

#include <cstdlib>

namespace routes {

using Steps = std::vector<std::pair<Point, int>>;

inline const Steps &straightSteps() {
  static const Steps Result = {
      {{0, -1}, 10}, {{1, 0}, 10}, {{0, 1}, 10}, {{-1, 0}, 10}};
  return Result;
}

inline const Steps &allSteps() {
  static const Steps Result = {{{0, -1}, 10}, {{1, 0}, 10},  {{0, 1}, 10},
                               {{-1, 0}, 10}, {{1, -1}, 14}, {{1, 1}, 14},
                               {{-1, 1}, 14}, {{-1, -1}, 14}};
  return Result;
}

/// Goes everywhere but over rock and water.
struct Walker {
  static Cost enter(Terrain T) {
    switch (T) {
    case Terrain::Road:
      return 10;
    case Terrain::Meadow:
      return 12;
    case Terrain::Hill:
      return 30;
    default:
      return Unreachable;
    }
  }
  static Cost least(Point A, Point B) {
    return 10 * std::max(std::abs(A.X - B.X), std::abs(A.Y - B.Y));
  }
  static const Steps &steps() { return allSteps(); }
};

/// Fast on roads, slow on meadows, and that is all.
struct Cart {
  static Cost enter(Terrain T) {
    if (T == Terrain::Road)
      return 4;
    return T == Terrain::Meadow ? 20 : Unreachable;
  }
  static Cost least(Point A, Point B) {
    return 4 * (std::abs(A.X - B.X) + std::abs(A.Y - B.Y));
  }
  static const Steps &steps() { return straightSteps(); }
};

/// Crosses water, and carries its boat over meadows.
struct Ferryman {
  static Cost enter(Terrain T) {
    if (T == Terrain::Water)
      return 6;
    return T == Terrain::Rock || T == Terrain::Hill ? Unreachable : 25;
  }
  static Cost least(Point A, Point B) {
    return 6 * std::max(std::abs(A.X - B.X), std::abs(A.Y - B.Y));
  }
  static const Steps &steps() { return allSteps(); }
};

} // namespace routes

#endif
