//===- Grid.cpp - A map of fields -----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Grid.h"

#include <algorithm>

namespace routes {

static const char Symbols[] = "#=.^~";

static bool isPlace(char C) { return C >= 'A' && C <= 'Z'; }

static Terrain parseField(char C) {
  if (isPlace(C))
    return Terrain::Meadow;
  size_t Found = std::string(Symbols).find(C);
  if (Found == std::string::npos)
    throw Error(std::string("the map has no field '") + C + "'");
  return static_cast<Terrain>(Found);
}

static char symbolOf(Terrain T) { return Symbols[static_cast<int>(T)]; }

Grid::Grid(const std::vector<std::string> &Lines) {
  if (Lines.empty() || Lines.front().empty())
    throw Error("the map is empty");
  Width = static_cast<int>(Lines.front().size());
  Height = static_cast<int>(Lines.size());
  for (int Y = 0; Y < Height; ++Y) {
    const std::string &Line = Lines[static_cast<size_t>(Y)];
    if (static_cast<int>(Line.size()) != Width)
      throw Error("row " + std::to_string(Y + 1) + " of the map is not " +
                  std::to_string(Width) + " wide");
    for (int X = 0; X < Width; ++X) {
      char C = Line[static_cast<size_t>(X)];
      Fields.push_back(parseField(C));
      if (isPlace(C) && !Places.emplace(C, Point{X, Y}).second)
        throw Error(std::string("the map has two places ") + C);
    }
  }
}

Point Grid::place(char Name) const {
  auto Found = Places.find(Name);
  if (Found == Places.end())
    throw Error(std::string("the map has no place ") + Name);
  return Found->second;
}

std::string Grid::draw(const std::vector<Point> &Path) const {
  std::string Result;
  for (size_t I = 0; I < size(); ++I) {
    Result += symbolOf(Fields[I]);
    if (point(I).X == Width - 1)
      Result += '\n';
  }
  auto Mark = [&](Point P, char C) {
    Result[index(P) + static_cast<size_t>(P.Y)] = C;
  };
  for (Point P : Path)
    Mark(P, '*');
  for (const auto &[Name, P] : Places)
    Mark(P, Name);
  return Result;
}

} // namespace routes
