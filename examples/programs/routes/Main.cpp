//===- Main.cpp - routes: plans ways over a map ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Planner.h"

#include <iomanip>
#include <iostream>
#include <sstream>

using namespace routes;

/// Minutes with one digit.
static std::string minutes(Cost Tenths) {
  return std::to_string(Tenths / 10) + "." + std::to_string(Tenths % 10) +
         " min";
}

namespace {

/// Requests, one per line: "way WHO FROM TO", "tour WHO STOPS",
/// "within WHO FROM MINUTES", "table WHO".
class Session {
public:
  explicit Session(const Grid &Map) : Map(Map) {}

  void handle(const std::string &Line) {
    std::istringstream Words(Line);
    std::string What, Who;
    Words >> What >> Who;
    std::cout << "> " << Line << '\n';
    try {
      request(What, *Planner::make(Who, Map), Words);
    } catch (const Error &Wrong) {
      std::cout << "error: " << Wrong.what() << '\n';
    }
  }

private:
  template <typename T>
  static T next(std::istringstream &Words, const char *What) {
    T Result;
    if (!(Words >> Result))
      throw Error(std::string("the request lacks ") + What);
    return Result;
  }

  void request(const std::string &What, const Planner &By,
               std::istringstream &Words) const {
    if (What == "way")
      way(By, Words);
    else if (What == "tour")
      tour(By, Words);
    else if (What == "within")
      within(By, Words);
    else if (What == "table")
      table(By);
    else
      throw Error("no request is called " + What);
  }

  void way(const Planner &By, std::istringstream &Words) const {
    Point From = Map.place(next<char>(Words, "a place to start"));
    Point To = Map.place(next<char>(Words, "a place to go"));
    Way Found = By.way(From, To);
    if (!Found.exists())
      throw Error("there is no way");
    std::cout << minutes(Found.Total) << ", " << Found.Path.size() - 1
              << " steps, " << Found.Visited << " fields looked at\n"
              << Map.draw(Found.Path);
  }

  void tour(const Planner &By, std::istringstream &Words) const {
    Tour Found = planTour(By, Map, next<std::string>(Words, "stops"));
    std::cout << minutes(Found.Total) << " by " << Found.Stops << ", "
              << Found.Improvements << " improvements\n"
              << Map.draw(Found.Path);
  }

  void within(const Planner &By, std::istringstream &Words) const {
    Point From = Map.place(next<char>(Words, "a place to start"));
    int Minutes = next<int>(Words, "minutes");
    if (Minutes < 0 || Minutes > 10000)
      throw Error("minutes are not 0 to 10000");
    std::vector<Point> Fields = By.within(From, 10 * Minutes);
    std::cout << Fields.size() << " fields\n" << Map.draw(Fields);
  }

  void table(const Planner &By) const {
    std::cout << "   ";
    for (const auto &To : Map.places())
      std::cout << std::setw(7) << To.first;
    std::cout << '\n';
    for (const auto &From : Map.places()) {
      std::cout << std::setw(3) << From.first;
      for (const auto &To : Map.places()) {
        Way Found = By.way(From.second, To.second);
        std::cout << std::setw(7)
                  << (Found.exists() ? std::to_string(Found.Total) : "-");
      }
      std::cout << '\n';
    }
  }

  const Grid &Map;
};

} // namespace

/// The map ends at an empty line.
static std::vector<std::string> readMap(std::istream &Input) {
  std::vector<std::string> Lines;
  for (std::string Line; std::getline(Input, Line) && !Line.empty();)
    Lines.push_back(Line);
  return Lines;
}

int main() {
  try {
    Grid Map(readMap(std::cin));
    std::cout << Map.width() << " x " << Map.height() << " fields, "
              << Map.places().size() << " places\n";
    Session Requests(Map);
    for (std::string Line; std::getline(std::cin, Line);)
      if (!Line.empty())
        Requests.handle(Line);
  } catch (const Error &Wrong) {
    std::cerr << "routes: " << Wrong.what() << '\n';
    return 1;
  }
  return std::cout.flush() ? 0 : 1;
}
