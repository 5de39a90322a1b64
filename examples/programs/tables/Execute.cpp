//===- Execute.cpp - Doing what is asked for ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"

#include <algorithm>
#include <set>

namespace tables {
namespace {

std::string counted(size_t Count, const char *What) {
  return std::to_string(Count) + (Count == 1 ? " row " : " rows ") + What +
         "\n";
}

Relation join(const Relation &Left, const Relation &Right, const ExprPtr &On) {
  Relation Result;
  Result.Columns = Left.Columns;
  Result.Columns.insert(Result.Columns.end(), Right.Columns.begin(),
                        Right.Columns.end());
  for (const Row &A : Left.Rows)
    for (const Row &B : Right.Rows) {
      Row Both = A;
      Both.insert(Both.end(), B.begin(), B.end());
      if (holds(On, Result, Both))
        Result.Rows.push_back(std::move(Both));
    }
  return Result;
}

Relation source(Database &Data, const Select &Query) {
  Relation Result = Data.table(Query.Table);
  for (const Select::Join &Each : Query.Joins)
    Result = join(Result, Data.table(Each.Table), Each.On);
  return Result;
}

RowRefs filter(const Relation &From, const ExprPtr &Where) {
  RowRefs Result;
  for (const Row &R : From.Rows)
    if (holds(Where, From, R))
      Result.push_back(&R);
  return Result;
}

/// In the order in which their first rows come.
std::vector<RowRefs> groups(const Relation &From, const RowRefs &Rows,
                            const std::vector<std::string> &Names) {
  std::vector<size_t> Places;
  for (const std::string &Name : Names)
    Places.push_back(From.columnIndex(Name));
  std::vector<RowRefs> Result;
  std::map<Row, size_t> Known;
  for (const Row *R : Rows) {
    Row Key;
    for (size_t Place : Places)
      Key.push_back((*R)[Place]);
    auto [At, IsNew] = Known.emplace(std::move(Key), Result.size());
    if (IsNew)
      Result.emplace_back();
    Result[At->second].push_back(R);
  }
  if (Result.empty() && Names.empty())
    Result.emplace_back(); // an aggregate of nothing is one row
  return Result;
}

bool isGrouped(const Select &Query) {
  auto HasAggregate = [](const Select::Item &Item) {
    return Item.Value->hasAggregate();
  };
  return !Query.Groups.empty() || Query.Having ||
         std::any_of(Query.Items.begin(), Query.Items.end(), HasAggregate);
}

template <typename Rows>
Row project(const Select &Query, const Relation &From, const Rows &R) {
  Row Result;
  for (const Select::Item &Item : Query.Items)
    Result.push_back(evaluate(*Item.Value, From, R));
  return Result;
}

/// A wrong column is an error also where there are no rows.
void checkColumns(const Select &Query, const Relation &From) {
  for (const Select::Item &Item : Query.Items)
    Item.Value->forEachColumn(
        [&](const std::string &Name) { From.columnIndex(Name); });
}

Relation projected(const Select &Query, const Relation &From,
                   const RowRefs &Rows) {
  Relation Result;
  if (Query.Items.empty()) {
    if (isGrouped(Query))
      throw Error("groups need named columns");
    Result.Columns = From.Columns;
    for (const Row *R : Rows)
      Result.Rows.push_back(*R);
    return Result;
  }
  checkColumns(Query, From);
  for (const Select::Item &Item : Query.Items)
    Result.Columns.push_back({"", Item.Name, Type::Text});
  if (!isGrouped(Query)) {
    for (const Row *R : Rows)
      Result.Rows.push_back(project(Query, From, *R));
    return Result;
  }
  for (const RowRefs &Group : groups(From, Rows, Query.Groups))
    if (holds(Query.Having, From, Group))
      Result.Rows.push_back(project(Query, From, Group));
  return Result;
}

void makeDistinct(std::vector<Row> &Rows) {
  std::set<Row> Seen;
  auto IsRepeated = [&](const Row &R) { return !Seen.insert(R).second; };
  Rows.erase(std::remove_if(Rows.begin(), Rows.end(), IsRepeated), Rows.end());
}

/// Rows that are equal in all of these columns stay in order.
void sortRows(Relation &Result, const std::vector<Select::Order> &Orders) {
  std::vector<std::pair<size_t, bool>> Keys;
  for (const Select::Order &Each : Orders)
    Keys.emplace_back(Result.columnIndex(Each.Column), Each.Descending);
  std::vector<std::pair<Row, size_t>> Numbered;
  for (Row &R : Result.Rows)
    Numbered.emplace_back(std::move(R), Numbered.size());
  std::sort(Numbered.begin(), Numbered.end(),
            [&](const auto &A, const auto &B) {
              for (auto [Place, Descending] : Keys) {
                const Cell &X = A.first[Place], &Y = B.first[Place];
                if (!(X == Y))
                  return Descending ? Y < X : X < Y;
              }
              return A.second < B.second;
            });
  for (size_t I = 0; I < Numbered.size(); ++I)
    Result.Rows[I] = std::move(Numbered[I].first);
}

/// One overload per statement, for std::visit.
class Executor {
public:
  explicit Executor(Database &Data) : Data(Data) {}

  std::string operator()(const Create &What) {
    Data.create(What.Table, What.Empty);
    return What.Table + " created\n";
  }

  std::string operator()(const Drop &What) {
    Data.drop(What.Table);
    return What.Table + " dropped\n";
  }

  std::string operator()(const Insert &What) {
    Relation Changed = Data.table(What.Table);
    for (const Row &R : What.Rows)
      Changed.insert(R);
    Data.table(What.Table) = std::move(Changed);
    return counted(What.Rows.size(), "inserted");
  }

  std::string operator()(const Delete &What) {
    Relation &Table = Data.table(What.Table);
    std::vector<Row> Kept;
    for (const Row &R : Table.Rows)
      if (!holds(What.Where, Table, R))
        Kept.push_back(R);
    Table.Rows.swap(Kept);
    return counted(Kept.size() - Table.Rows.size(), "deleted");
  }

  std::string operator()(const Update &What) {
    const Relation &Table = Data.table(What.Table);
    Relation Changed;
    Changed.Columns = Table.Columns;
    size_t Count = 0;
    for (const Row &R : Table.Rows) {
      bool Matches = holds(What.Where, Table, R);
      Changed.insert(Matches ? updated(What, Table, R) : R);
      Count += Matches;
    }
    Data.table(What.Table) = std::move(Changed);
    return counted(Count, "updated");
  }

  std::string operator()(const Select &What) {
    Relation From = source(Data, What);
    Relation Result = projected(What, From, filter(From, What.Where));
    if (What.Distinct)
      makeDistinct(Result.Rows);
    sortRows(Result, What.Orders);
    if (What.Limit && *What.Limit < Result.Rows.size())
      Result.Rows.resize(*What.Limit);
    return Result.str() + counted(Result.Rows.size(), "selected");
  }

private:
  static Row updated(const Update &What, const Relation &Table, const Row &R) {
    Row Result = R;
    for (const auto &[Name, Value] : What.Changes)
      Result[Table.columnIndex(Name)] = evaluate(*Value, Table, R);
    return Result;
  }

  Database &Data;
};

} // namespace

std::string execute(Database &Data, const Statement &What) {
  return std::visit(Executor(Data), What);
}

} // namespace tables
