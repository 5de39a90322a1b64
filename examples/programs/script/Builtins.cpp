//===- Builtins.cpp - Functions that every script has ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Scope.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

namespace script {
namespace {

using Arguments = std::vector<Value>;

class Builtin : public Callable {
public:
  using Code = Value (*)(Arguments &, int Line);
  Builtin(std::string Name, size_t Least, size_t Most, Code Run)
      : Name(std::move(Name)), Least(Least), Most(Most), Run(Run) {}

  Value call(Arguments &Args, int Line) override {
    if (Args.size() < Least || Args.size() > Most)
      throw Error(Line, Name + ": wrong number of arguments, " +
                            std::to_string(Args.size()));
    return Run(Args, Line);
  }
  const std::string &name() const override { return Name; }

private:
  std::string Name;
  size_t Least, Most;
  Code Run;
};

Value print(Arguments &Args, int) {
  const char *Separator = "";
  for (const Value &Each : Args) {
    std::cout << Separator << Each.str();
    Separator = " ";
  }
  std::cout << '\n';
  return {};
}

Value size(Arguments &Args, int Line) {
  if (Args[0].isText())
    return static_cast<double>(Args[0].text(Line).size());
  if (Args[0].isMap())
    return static_cast<double>(Args[0].map(Line).size());
  return static_cast<double>(Args[0].list(Line).size());
}

Value push(Arguments &Args, int Line) {
  Args[0].list(Line).push_back(Args[1]);
  return Args[0];
}

Value pop(Arguments &Args, int Line) {
  List &Items = Args[0].list(Line);
  if (Items.empty())
    throw Error(Line, "pop: the list is empty");
  Value Last = std::move(Items.back());
  Items.pop_back();
  return Last;
}

Value range(Arguments &Args, int Line) {
  double From = Args.size() > 1 ? Args[0].number(Line) : 0;
  double To = Args.back().number(Line);
  if (To - From > 1e6)
    throw Error(Line, "range: too many numbers");
  List Result;
  for (; From < To; From += 1)
    Result.push_back(From);
  return Result;
}

/// Not a number has no place in any order.
void checkSortable(const Value &Item, int Line) {
  if (!Item.isText() && std::isnan(Item.number(Line)))
    throw Error(Line, "sort: a number is undefined");
}

Value sort(Arguments &Args, int Line) {
  List Items = Args[0].list(Line);
  for (const Value &Item : Items)
    checkSortable(Item, Line);
  std::sort(Items.begin(), Items.end(), [Line](const Value &A, const Value &B) {
    return A.isText() ? A.text(Line) < B.text(Line)
                      : A.number(Line) < B.number(Line);
  });
  return Items;
}

Value join(Arguments &Args, int Line) {
  std::string Result;
  bool First = true;
  for (const Value &Item : Args[0].list(Line)) {
    if (!First)
      Result += Args[1].text(Line);
    First = false;
    Result += Item.str();
  }
  return Result;
}

Value split(Arguments &Args, int Line) {
  const std::string &Text = Args[0].text(Line), &Mark = Args[1].text(Line);
  if (Mark.empty())
    throw Error(Line, "split: the separator is empty");
  List Result;
  size_t From = 0;
  for (size_t To; (To = Text.find(Mark, From)) != std::string::npos;
       From = To + Mark.size())
    Result.push_back(Text.substr(From, To - From));
  Result.push_back(Text.substr(From));
  return Result;
}

Value str(Arguments &Args, int) { return Args[0].str(); }
Value kind(Arguments &Args, int) { return Args[0].kind(); }
Value floor(Arguments &Args, int Line) {
  return std::floor(Args[0].number(Line));
}
Value fail(Arguments &Args, int Line) { throw Error(Line, Args[0].str()); }

Value number(Arguments &Args, int Line) {
  const std::string &Text = Args[0].text(Line);
  char *End;
  double Result = std::strtod(Text.c_str(), &End);
  if (Text.empty() || *End)
    throw Error(Line, "number: '" + Text + "' is none");
  return Result;
}

} // namespace

void defineBuiltins(Scope &Globals) {
  auto Add = [&](const char *Name, size_t Least, size_t Most,
                 Builtin::Code Run) {
    Globals.define(Name, std::shared_ptr<Callable>(std::make_shared<Builtin>(
                             Name, Least, Most, Run)));
  };
  Add("print", 0, 100, print);
  Add("size", 1, 1, size);
  Add("push", 2, 2, push);
  Add("pop", 1, 1, pop);
  Add("range", 1, 2, range);
  Add("sort", 1, 1, sort);
  Add("join", 2, 2, join);
  Add("split", 2, 2, split);
  Add("str", 1, 1, str);
  Add("kind", 1, 1, kind);
  Add("floor", 1, 1, floor);
  Add("fail", 1, 1, fail);
  Add("number", 1, 1, number);
}

} // namespace script
