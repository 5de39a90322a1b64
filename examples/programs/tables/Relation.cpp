//===- Relation.cpp - Rows with named columns -----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Relation.h"

#include <algorithm>

namespace tables {

static bool isCalled(const Column &C, const std::string &Name) {
  return C.Name == Name || C.Table + "." + C.Name == Name;
}

size_t Relation::columnIndex(const std::string &Name) const {
  auto Matches = [&](const Column &C) { return isCalled(C, Name); };
  auto Found = std::find_if(Columns.begin(), Columns.end(), Matches);
  if (Found == Columns.end())
    throw Error("no column " + Name);
  if (std::any_of(Found + 1, Columns.end(), Matches))
    throw Error("more than one column " + Name);
  return static_cast<size_t>(Found - Columns.begin());
}

void Relation::insert(Row New) {
  if (New.size() != Columns.size())
    throw Error(std::to_string(New.size()) + " values for " +
                std::to_string(Columns.size()) + " columns");
  for (size_t I = 0; I < New.size(); ++I)
    if (!New[I].fits(Columns[I].Kind))
      throw Error("column " + Columns[I].Name + " is a " +
                  nameOf(Columns[I].Kind) + ", '" + New[I].str() + "' is not");
  Rows.push_back(std::move(New));
}

static void appendPadded(std::string &Out, const std::string &Text,
                         size_t Width, bool ToTheRight) {
  size_t Spare = Width > Text.size() ? Width - Text.size() : 0;
  if (ToTheRight)
    Out.append(Spare, ' ');
  Out += Text;
  if (!ToTheRight)
    Out.append(Spare, ' ');
}

static void endLine(std::string &Out) {
  while (!Out.empty() && Out.back() == ' ')
    Out.pop_back();
  Out += '\n';
}

std::string Relation::str() const {
  std::vector<size_t> Widths;
  for (size_t I = 0; I < Columns.size(); ++I) {
    size_t Width = Columns[I].Name.size();
    for (const Row &R : Rows)
      Width = std::max(Width, R[I].str().size());
    Widths.push_back(Width);
  }
  std::string Out;
  for (size_t I = 0; I < Columns.size(); ++I)
    appendPadded(Out, Columns[I].Name, Widths[I] + 2, false);
  endLine(Out);
  for (size_t Width : Widths)
    Out.append(Width, '-').append("  ");
  endLine(Out);
  for (const Row &R : Rows) {
    for (size_t I = 0; I < R.size(); ++I) {
      appendPadded(Out, R[I].str(), Widths[I], R[I].isNumber());
      Out += "  ";
    }
    endLine(Out);
  }
  return Out;
}

void Database::create(const std::string &Name, Relation Table) {
  if (!Tables.emplace(Name, std::move(Table)).second)
    throw Error("there is a table " + Name + " already");
}

void Database::drop(const std::string &Name) {
  if (!Tables.erase(Name))
    throw Error("no table " + Name);
}

Relation &Database::table(const std::string &Name) {
  auto Found = Tables.find(Name);
  if (Found == Tables.end())
    throw Error("no table " + Name);
  return Found->second;
}

} // namespace tables
