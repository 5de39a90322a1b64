//===- Functions.cpp - The functions of queries ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Filter.h"

#include <algorithm>
#include <cmath>

namespace query {
namespace {

using Arguments = std::vector<Filter>;

/// A filter with one result, from a function of the input.
template <typename Function> Filter simple(Function Run) {
  return [=](const Json &Input, const Sink &Out) { Out(Run(Input)); };
}

/// What an item is sorted or grouped by.
Json keyOf(const Filter &Key, const Json &Item) {
  Json Result = Json::array();
  Key(Item, [&](const Json &Value) { Result.add(Value); });
  return Result;
}

using Keyed = std::pair<Json, Json>;

/// The items with their keys, sorted; equal ones stay in order.
std::vector<Keyed> sortedByKey(const Filter &Key, const Json &Input) {
  std::vector<std::pair<Keyed, size_t>> Numbered;
  for (const Json &Item : Input.items())
    Numbered.push_back({{keyOf(Key, Item), Item}, Numbered.size()});
  std::sort(Numbered.begin(), Numbered.end(), [](const auto &A, const auto &B) {
    int Order = Json::compare(A.first.first, B.first.first);
    return Order ? Order < 0 : A.second < B.second;
  });
  std::vector<Keyed> Result;
  for (auto &Each : Numbered)
    Result.push_back(std::move(Each.first));
  return Result;
}

Json sortBy(const Filter &Key, const Json &Input) {
  Json Result = Json::array();
  for (Keyed &Each : sortedByKey(Key, Input))
    Result.add(std::move(Each.second));
  return Result;
}

Json groupBy(const Filter &Key, const Json &Input) {
  Json Result = Json::array(), Group = Json::array();
  std::vector<Keyed> Sorted = sortedByKey(Key, Input);
  for (size_t I = 0; I < Sorted.size(); ++I) {
    Group.add(Sorted[I].second);
    if (I + 1 == Sorted.size() || !(Sorted[I].first == Sorted[I + 1].first)) {
      Result.add(std::move(Group));
      Group = Json::array();
    }
  }
  return Result;
}

Json extreme(const Filter &Key, const Json &Input, bool Largest) {
  std::vector<Keyed> Sorted = sortedByKey(Key, Input);
  if (Sorted.empty())
    return Json();
  return Largest ? Sorted.back().second : Sorted.front().second;
}

double length(const Json &Input) {
  switch (Input.kind()) {
  case Json::Kind::String:
    return static_cast<double>(Input.text().size());
  case Json::Kind::Array:
    return static_cast<double>(Input.items().size());
  case Json::Kind::Object:
    return static_cast<double>(Input.members().size());
  case Json::Kind::Null:
    return 0;
  default:
    throw Error(std::string(Input.kindName()) + " has no length");
  }
}

Json keys(const Json &Input) {
  Json Result = Json::array();
  for (const Json::Member &Each : Input.members())
    Result.add(Each.first);
  return sortBy(identity(), Result);
}

Json sum(const Json &Input) {
  Json Result;
  Filter Add = binary("+", element(identity(), constant(0.0)),
                      element(identity(), constant(1.0)));
  for (const Json &Item : Input.items()) {
    Json Pair = Json::array();
    Pair.add(Result);
    Pair.add(Item);
    Add(Pair, [&](const Json &Value) { Result = Value; });
  }
  return Result;
}

Json reversed(const Json &Input) {
  Json Result = Json::array();
  const std::vector<Json> &Items = Input.items();
  for (auto At = Items.rbegin(); At != Items.rend(); ++At)
    Result.add(*At);
  return Result;
}

Filter select(const Filter &Condition) {
  return [=](const Json &Input, const Sink &Out) {
    Condition(Input, [&](const Json &Value) {
      if (Value.isTrue())
        Out(Input);
    });
  };
}

Filter withoutArguments(const std::string &Name) {
  if (Name == "length")
    return simple([](const Json &Input) -> Json { return length(Input); });
  if (Name == "keys")
    return simple(keys);
  if (Name == "add")
    return simple(sum);
  if (Name == "reverse")
    return simple(reversed);
  if (Name == "not")
    return simple([](const Json &Input) -> Json { return !Input.isTrue(); });
  if (Name == "type")
    return simple([](const Json &Input) -> Json {
      return std::string(Input.kindName());
    });
  if (Name == "floor")
    return simple(
        [](const Json &Input) -> Json { return std::floor(Input.number()); });
  if (Name == "sort")
    return simple(
        [](const Json &Input) -> Json { return sortBy(identity(), Input); });
  return nullptr;
}

Filter withArgument(const std::string &Name, const Filter &Argument) {
  if (Name == "select")
    return select(Argument);
  if (Name == "map")
    return collect(pipe(each(identity()), Argument));
  if (Name == "sort_by")
    return simple([=](const Json &Input) { return sortBy(Argument, Input); });
  if (Name == "group_by")
    return simple([=](const Json &Input) { return groupBy(Argument, Input); });
  if (Name == "min_by" || Name == "max_by")
    return simple([=, Largest = Name == "max_by"](const Json &Input) {
      return extreme(Argument, Input, Largest);
    });
  return nullptr;
}

} // namespace

Filter function(const std::string &Name, Arguments Args) {
  Filter Result;
  if (Args.empty())
    Result = withoutArguments(Name);
  else if (Args.size() == 1)
    Result = withArgument(Name, Args[0]);
  if (!Result)
    throw Error("no function " + Name + " with " + std::to_string(Args.size()) +
                " arguments");
  return Result;
}

} // namespace query
