//===- Relation.h - Rows with named columns ---------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TABLES_RELATION_H
#define TABLES_RELATION_H

#include "Cell.h"

#include <map>

namespace tables {

struct Column {
  std::string Table, Name;
  Type Kind;
};

/// A stored table, or what a select made of some.
class Relation {
public:
  std::vector<Column> Columns;
  std::vector<Row> Rows;

  /// The place of `name` or `table.name`; throws Error if it is not one.
  size_t columnIndex(const std::string &Name) const;
  /// Throws Error unless the row has a fitting cell for each column.
  void insert(Row New);
  std::string str() const;
};

class Database {
public:
  void create(const std::string &Name, Relation Table);
  void drop(const std::string &Name);
  Relation &table(const std::string &Name);

private:
  std::map<std::string, Relation> Tables;
};

} // namespace tables

#endif
