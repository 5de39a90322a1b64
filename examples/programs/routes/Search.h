//===- Search.h - Shortest ways ---------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ROUTES_SEARCH_H
#define ROUTES_SEARCH_H

#include "Grid.h"
#include "Heap.h"

#include <algorithm>
#include <limits>

namespace routes {

/// Costs are in tenths of a minute.
using Cost = int;
constexpr Cost Unreachable = std::numeric_limits<Cost>::max();

struct Way {
  Cost Total = Unreachable;
  std::vector<Point> Path;
  size_t Visited = 0; ///< Fields that the search looked at.
  bool exists() const { return Total != Unreachable; }
};

/// A search from one field. A Traveller has
///   static Cost enter(Terrain)   what a field costs, or Unreachable
///   static Cost least(Point, Point)   never more than the way between them
///   static const std::vector<std::pair<Point, int>> &steps()
///       where it can go, and how many tenths of a field's cost that is
template <typename Traveller> class Search {
public:
  Search(const Grid &Map, Point From)
      : Map(Map), From(From), Costs(Map.size(), Unreachable),
        Before(Map.size(), 0) {}

  Way to(Point Goal) {
    run([&](Point P) { return Traveller::least(P, Goal); },
        [&](Point P, Cost) { return P == Goal; });
    return wayTo(Goal);
  }

  /// The fields that cost no more than Most.
  std::vector<Point> within(Cost Most) {
    run([](Point) { return 0; }, [&](Point, Cost C) { return C > Most; });
    std::vector<Point> Result;
    for (size_t I = 0; I < Costs.size(); ++I)
      if (Costs[I] <= Most)
        Result.push_back(Map.point(I));
    return Result;
  }

private:
  struct Entry {
    Cost Estimate, SoFar;
    size_t Index;
    friend bool operator<(const Entry &A, const Entry &B) {
      if (A.Estimate != B.Estimate)
        return A.Estimate < B.Estimate;
      if (A.SoFar != B.SoFar)
        return A.SoFar > B.SoFar; // nearer to the goal
      return A.Index < B.Index;
    }
  };

  Cost stepCost(Point To, int Tenths) const {
    Cost Field = Map.contains(To) ? Traveller::enter(Map.at(To)) : Unreachable;
    return Field == Unreachable ? Unreachable : Field * Tenths / 10;
  }

  template <typename Estimate, typename Stop>
  void run(Estimate Rest, Stop IsEnough) {
    Heap<Entry> Open;
    Costs[Map.index(From)] = 0;
    Open.push({Rest(From), 0, Map.index(From)});
    while (!Open.empty()) {
      Entry Next = Open.pop();
      if (Next.SoFar > Costs[Next.Index])
        continue; // a better way there was found meanwhile
      ++Visited;
      Point Here = Map.point(Next.Index);
      if (IsEnough(Here, Next.SoFar))
        return;
      for (const auto &[Step, Tenths] : Traveller::steps())
        relax(Open, Next, Here + Step, Tenths, Rest);
    }
  }

  template <typename Estimate>
  void relax(Heap<Entry> &Open, const Entry &Via, Point To, int Tenths,
             Estimate Rest) {
    Cost Step = stepCost(To, Tenths);
    if (Step == Unreachable)
      return;
    size_t Index = Map.index(To);
    Cost Total = Via.SoFar + Step;
    if (Total >= Costs[Index])
      return;
    Costs[Index] = Total;
    Before[Index] = Via.Index;
    Open.push({Total + Rest(To), Total, Index});
  }

  Way wayTo(Point Goal) const {
    Way Result;
    Result.Total = Costs[Map.index(Goal)];
    Result.Visited = Visited;
    if (!Result.exists())
      return Result;
    for (Point P = Goal; P != From; P = Map.point(Before[Map.index(P)]))
      Result.Path.push_back(P);
    Result.Path.push_back(From);
    std::reverse(Result.Path.begin(), Result.Path.end());
    return Result;
  }

  const Grid &Map;
  Point From;
  std::vector<Cost> Costs;
  std::vector<size_t> Before;
  size_t Visited = 0;
};

} // namespace routes

#endif
