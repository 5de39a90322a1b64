//===- Statement.h - What can be asked for ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TABLES_STATEMENT_H
#define TABLES_STATEMENT_H

#include "Relation.h"

#include <memory>
#include <optional>

namespace tables {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  enum class Kind { Constant, Column, Unary, Binary, Aggregate };
  Kind What;
  std::string Name; ///< Of a column, an operator or an aggregate function.
  Cell Value;
  ExprPtr Left, Right;

  /// True if some part of it is an aggregate.
  bool hasAggregate() const;
  /// Calls F with each column's name.
  template <typename Function> void forEachColumn(Function F) const {
    if (What == Kind::Column)
      F(Name);
    if (Left)
      Left->forEachColumn(F);
    if (Right)
      Right->forEachColumn(F);
  }
};

struct Create {
  std::string Table;
  Relation Empty;
};

struct Insert {
  std::string Table;
  std::vector<Row> Rows;
};

struct Drop {
  std::string Table;
};

struct Delete {
  std::string Table;
  ExprPtr Where;
};

struct Update {
  std::string Table;
  std::vector<std::pair<std::string, ExprPtr>> Changes;
  ExprPtr Where;
};

struct Select {
  struct Item {
    ExprPtr Value;
    std::string Name;
  };
  struct Join {
    std::string Table;
    ExprPtr On;
  };
  struct Order {
    std::string Column;
    bool Descending;
  };
  bool Distinct = false;
  std::vector<Item> Items; ///< Empty: all columns.
  std::string Table;
  std::vector<Join> Joins;
  ExprPtr Where, Having;
  std::vector<std::string> Groups;
  std::vector<Order> Orders;
  std::optional<size_t> Limit;
};

using Statement = std::variant<Create, Insert, Drop, Delete, Update, Select>;

/// One statement, without its ';'. Throws Error.
Statement parseStatement(const std::string &Source);

/// Does it, and gives what is to be printed. Throws Error; then nothing has
/// changed.
std::string execute(Database &Data, const Statement &What);

} // namespace tables

#endif
