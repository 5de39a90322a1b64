//===- Grid.h - A map of fields ---------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ROUTES_GRID_H
#define ROUTES_GRID_H

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace routes {

/// A map or a request that is wrong.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct Point {
  int X = 0, Y = 0;
  friend bool operator==(Point A, Point B) { return A.X == B.X && A.Y == B.Y; }
  friend bool operator!=(Point A, Point B) { return !(A == B); }
  friend Point operator+(Point A, Point B) { return {A.X + B.X, A.Y + B.Y}; }
};

enum class Terrain { Rock, Road, Meadow, Hill, Water };

/// Fields in rows of equal length; some have a name, a capital letter.
class Grid {
public:
  /// '#' rock, '.' meadow, '=' road, '^' hill, '~' water, 'A'..'Z' a place.
  /// Throws Error.
  explicit Grid(const std::vector<std::string> &Lines);

  int width() const { return Width; }
  int height() const { return Height; }
  size_t size() const { return Fields.size(); }
  bool contains(Point P) const {
    return P.X >= 0 && P.X < Width && P.Y >= 0 && P.Y < Height;
  }
  size_t index(Point P) const {
    return static_cast<size_t>(P.Y) * static_cast<size_t>(Width) +
           static_cast<size_t>(P.X);
  }
  Point point(size_t Index) const {
    return {static_cast<int>(Index) % Width, static_cast<int>(Index) / Width};
  }
  Terrain at(Point P) const { return Fields[index(P)]; }
  /// Throws Error if there is none of that name.
  Point place(char Name) const;
  const std::map<char, Point> &places() const { return Places; }

  /// The map with marks where Path goes; places stay visible.
  std::string draw(const std::vector<Point> &Path) const;

private:
  int Width = 0, Height = 0;
  std::vector<Terrain> Fields;
  std::map<char, Point> Places;
};

} // namespace routes

#endif
