//===- Evaluate.h - What expressions are worth ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TABLES_EVALUATE_H
#define TABLES_EVALUATE_H

#include "Statement.h"

namespace tables {

using RowRefs = std::vector<const Row *>;

/// The value for one row. Throws Error if there is an aggregate.
Cell evaluate(const Expr &E, const Relation &From, const Row &R);
/// The value for a group of rows; columns are those of its first row.
Cell evaluate(const Expr &E, const Relation &From, const RowRefs &Group);

/// A null condition holds always.
template <typename Rows>
bool holds(const ExprPtr &Condition, const Relation &From, const Rows &R) {
  return !Condition || evaluate(*Condition, From, R).isTrue();
}

} // namespace tables

#endif
