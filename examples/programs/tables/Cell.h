//===- Cell.h - Values in tables --------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TABLES_CELL_H
#define TABLES_CELL_H

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace tables {

/// A statement that cannot be understood or done.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

enum class Type { Number, Text };

inline const char *nameOf(Type T) {
  return T == Type::Number ? "number" : "text";
}

/// A number, a text, or nothing: what an aggregate of no rows is.
class Cell {
public:
  Cell() = default;
  /// What is no number has no place in an order: it is nothing.
  Cell(double Number) {
    if (!std::isnan(Number))
      Data = Number;
  }
  Cell(std::string Text) : Data(std::move(Text)) {}
  static Cell truth(bool B) { return Cell(B ? 1.0 : 0.0); }

  bool isEmpty() const { return std::holds_alternative<std::monostate>(Data); }
  bool isNumber() const { return std::holds_alternative<double>(Data); }
  bool isTrue() const { return isNumber() && number() != 0; }
  bool fits(Type T) const { return isNumber() == (T == Type::Number); }

  double number() const {
    if (const double *Number = std::get_if<double>(&Data))
      return *Number;
    throw Error("'" + str() + "' is not a number");
  }

  std::string str() const {
    if (isEmpty())
      return "-";
    if (!isNumber())
      return std::get<std::string>(Data);
    char Buffer[32];
    std::snprintf(Buffer, sizeof(Buffer), "%.8g", number());
    return Buffer;
  }

  friend bool operator<(const Cell &A, const Cell &B) {
    return A.Data < B.Data;
  }
  friend bool operator==(const Cell &A, const Cell &B) {
    return A.Data == B.Data;
  }

private:
  std::variant<std::monostate, double, std::string> Data;
};

using Row = std::vector<Cell>;

} // namespace tables

#endif
