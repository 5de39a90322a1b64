//===- Planner.h - Answers for any traveller --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ROUTES_PLANNER_H
#define ROUTES_PLANNER_H

#include "Search.h"

#include <memory>

namespace routes {

/// What can be asked of a kind of traveller.
class Planner {
public:
  virtual ~Planner() = default;
  virtual Way way(Point From, Point To) const = 0;
  virtual std::vector<Point> within(Point From, Cost Most) const = 0;

  /// For a walker, a cart or a ferryman; throws Error for others.
  static std::unique_ptr<Planner> make(const std::string &Name,
                                       const Grid &Map);
};

struct Tour {
  Cost Total = 0;
  std::string Stops; ///< In the order in which they are visited.
  std::vector<Point> Path;
  unsigned Improvements = 0;
};

/// A short round trip that begins with the first stop. Throws Error if one
/// cannot be reached.
Tour planTour(const Planner &By, const Grid &Map, const std::string &Stops);

} // namespace routes

#endif
