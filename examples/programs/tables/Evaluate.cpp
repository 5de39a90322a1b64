//===- Evaluate.cpp - What expressions are worth --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"

#include <algorithm>

namespace tables {
namespace {

/// '%' stands for any text, '_' for any character.
bool isLike(const char *Text, const char *Pattern) {
  for (; *Pattern; ++Pattern, ++Text) {
    if (*Pattern == '%') {
      while (*Text && !isLike(Text, Pattern + 1))
        ++Text;
      return isLike(Text, Pattern + 1);
    }
    if (!*Text || (*Pattern != '_' && *Pattern != *Text))
      return false;
  }
  return !*Text;
}

double quotient(double A, double B) {
  if (B == 0)
    throw Error("division by zero");
  return A / B;
}

Cell plus(const Cell &A, const Cell &B) {
  if (A.isNumber() && B.isNumber())
    return A.number() + B.number();
  return A.str() + B.str();
}

Cell applyBinary(const std::string &Operator, const Cell &A, const Cell &B) {
  if (Operator == "=")
    return Cell::truth(A == B);
  if (Operator == "<>")
    return Cell::truth(!(A == B));
  if (Operator == "<")
    return Cell::truth(A < B);
  if (Operator == "<=")
    return Cell::truth(!(B < A));
  if (Operator == ">")
    return Cell::truth(B < A);
  if (Operator == ">=")
    return Cell::truth(!(A < B));
  if (Operator == "and")
    return Cell::truth(A.isTrue() && B.isTrue());
  if (Operator == "or")
    return Cell::truth(A.isTrue() || B.isTrue());
  if (Operator == "like")
    return Cell::truth(isLike(A.str().c_str(), B.str().c_str()));
  if (Operator == "+")
    return plus(A, B);
  if (Operator == "-")
    return A.number() - B.number();
  if (Operator == "*")
    return A.number() * B.number();
  return quotient(A.number(), B.number());
}

Cell applyUnary(const std::string &Operator, const Cell &A) {
  return Operator == "-" ? Cell(-A.number()) : Cell::truth(!A.isTrue());
}

double total(const std::vector<Cell> &Values) {
  double Sum = 0;
  for (const Cell &Value : Values)
    Sum += Value.number();
  return Sum;
}

Cell aggregate(const std::string &Name, const std::vector<Cell> &Values) {
  double Count = static_cast<double>(Values.size());
  if (Name == "count")
    return Count;
  if (Name == "sum")
    return total(Values);
  if (Name != "avg" && Name != "min" && Name != "max")
    throw Error("no function " + Name);
  if (Values.empty())
    return Cell();
  if (Name == "avg")
    return total(Values) / Count;
  auto [Least, Most] = std::minmax_element(Values.begin(), Values.end());
  return Name == "min" ? *Least : *Most;
}

/// Leaf(E) gives columns and aggregates, which depend on what there is.
template <typename Function> Cell combine(const Expr &E, Function Leaf) {
  switch (E.What) {
  case Expr::Kind::Constant:
    return E.Value;
  case Expr::Kind::Unary:
    return applyUnary(E.Name, combine(*E.Left, Leaf));
  case Expr::Kind::Binary:
    return applyBinary(E.Name, combine(*E.Left, Leaf), combine(*E.Right, Leaf));
  case Expr::Kind::Column:
  case Expr::Kind::Aggregate:
    return Leaf(E);
  }
  return Cell();
}

} // namespace

Cell evaluate(const Expr &E, const Relation &From, const Row &R) {
  return combine(E, [&](const Expr &Leaf) -> Cell {
    if (Leaf.What == Expr::Kind::Aggregate)
      throw Error(Leaf.Name + "() has no place here");
    return R[From.columnIndex(Leaf.Name)];
  });
}

Cell evaluate(const Expr &E, const Relation &From, const RowRefs &Group) {
  return combine(E, [&](const Expr &Leaf) -> Cell {
    if (Leaf.What == Expr::Kind::Column) {
      size_t Place = From.columnIndex(Leaf.Name);
      return Group.empty() ? Cell() : (*Group.front())[Place];
    }
    std::vector<Cell> Values;
    for (const Row *R : Group)
      Values.push_back(evaluate(*Leaf.Left, From, *R));
    return aggregate(Leaf.Name, Values);
  });
}

} // namespace tables
