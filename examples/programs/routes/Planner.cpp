//===- Planner.cpp - Answers for any traveller ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Planner.h"

#include "Travellers.h"

namespace routes {
namespace {

template <typename Traveller> class PlannerFor : public Planner {
public:
  explicit PlannerFor(const Grid &Map) : Map(Map) {}
  Way way(Point From, Point To) const override {
    return Search<Traveller>(Map, From).to(To);
  }
  std::vector<Point> within(Point From, Cost Most) const override {
    return Search<Traveller>(Map, From).within(Most);
  }

private:
  const Grid &Map;
};

/// What each pair of stops is apart. Ways back may cost more than ways there.
class Distances {
public:
  Distances(const Planner &By, const Grid &Map, const std::string &Stops)
      : Count(Stops.size()) {
    for (char From : Stops)
      for (char To : Stops) {
        Way Between = By.way(Map.place(From), Map.place(To));
        if (!Between.exists())
          throw Error(std::string("no way from ") + From + " to " + To);
        Costs.push_back(Between.Total);
      }
  }
  Cost operator()(size_t From, size_t To) const {
    return Costs[From * Count + To];
  }
  size_t count() const { return Count; }

private:
  size_t Count;
  std::vector<Cost> Costs;
};

using Order = std::vector<size_t>;

Order nearestNeighbours(const Distances &Between) {
  Order Result = {0};
  std::vector<bool> Done(Between.count(), false);
  Done[0] = true;
  while (Result.size() < Between.count()) {
    size_t Best = 0;
    for (size_t I = 0; I < Between.count(); ++I)
      if (!Done[I] && (Done[Best] || Between(Result.back(), I) <
                                         Between(Result.back(), Best)))
        Best = I;
    Done[Best] = true;
    Result.push_back(Best);
  }
  return Result;
}

Cost length(const Distances &Between, const Order &Stops) {
  Cost Total = 0;
  for (size_t I = 0; I < Stops.size(); ++I)
    Total += Between(Stops[I], Stops[(I + 1) % Stops.size()]);
  return Total;
}

/// Reverses a part of the tour if that makes it shorter.
bool improveOnce(const Distances &Between, Order &Stops) {
  Cost Before = length(Between, Stops);
  for (size_t I = 1; I + 1 < Stops.size(); ++I)
    for (size_t J = I + 1; J < Stops.size(); ++J) {
      auto From = Stops.begin() + static_cast<std::ptrdiff_t>(I);
      auto To = Stops.begin() + static_cast<std::ptrdiff_t>(J) + 1;
      std::reverse(From, To);
      if (length(Between, Stops) < Before)
        return true;
      std::reverse(From, To);
    }
  return false;
}

template <typename Traveller>
std::unique_ptr<Planner> makeFor(const Grid &Map) {
  return std::make_unique<PlannerFor<Traveller>>(Map);
}

} // namespace

std::unique_ptr<Planner> Planner::make(const std::string &Name,
                                       const Grid &Map) {
  if (Name == "walker")
    return makeFor<Walker>(Map);
  if (Name == "cart")
    return makeFor<Cart>(Map);
  if (Name == "ferryman")
    return makeFor<Ferryman>(Map);
  throw Error("no traveller is called " + Name);
}

Tour planTour(const Planner &By, const Grid &Map, const std::string &Stops) {
  if (Stops.size() < 2)
    throw Error("a tour needs two stops");
  Distances Between(By, Map, Stops);
  Order Best = nearestNeighbours(Between);
  Tour Result;
  while (improveOnce(Between, Best))
    ++Result.Improvements;
  Result.Total = length(Between, Best);
  for (size_t I = 0; I < Best.size(); ++I) {
    char From = Stops[Best[I]], To = Stops[Best[(I + 1) % Best.size()]];
    Result.Stops += From;
    Way Part = By.way(Map.place(From), Map.place(To));
    Result.Path.insert(Result.Path.end(), Part.Path.begin(), Part.Path.end());
  }
  return Result;
}

} // namespace routes
