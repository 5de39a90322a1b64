//===- FilterParser.cpp - Reading queries ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Filter.h"
#include "Scanner.h"

namespace query {
namespace {

class FilterParser {
public:
  explicit FilterParser(std::string_view Source) : Input(Source) {}

  Filter query() {
    Filter Result = pipeline();
    Input.skipBlanks();
    if (!Input.atEnd())
      fail("unexpected");
    return Result;
  }

private:
  [[noreturn]] void fail(const std::string &What) const {
    throw Error(What + " at '" + std::string(Input.rest()) + "'");
  }
  void expect(char C) {
    if (!Input.accept(C))
      fail(std::string("expected '") + C + "'");
  }

  Filter pipeline() {
    Filter Left = commas();
    while (Input.accept('|'))
      Left = pipe(Left, commas());
    return Left;
  }

  Filter commas() {
    Filter Left = expression(0);
    while (Input.accept(','))
      Left = both(Left, expression(0));
    return Left;
  }

  /// The operator of this rank that is next, or an empty text.
  std::string takeOperator(size_t Rank) {
    static const std::vector<std::vector<const char *>> Ranks = {
        {"or"},
        {"and"},
        {"==", "!=", "<=", ">=", "<", ">"},
        {"+", "-"},
        {"*", "/"}};
    for (const char *Operator : Ranks[Rank])
      if (Input.accept(std::string_view(Operator)))
        return Operator;
    return "";
  }

  Filter expression(size_t Rank) {
    if (Rank == 5)
      return postfix();
    Filter Left = expression(Rank + 1);
    for (std::string Operator = takeOperator(Rank); !Operator.empty();
         Operator = takeOperator(Rank))
      Left = binary(Operator, Left, expression(Rank + 1));
    return Left;
  }

  Filter postfix() {
    Filter Result = primary();
    for (;;) {
      if (Input.accept('[')) {
        Result = brackets(Result);
      } else if (Input.accept('.')) {
        Result = member(Result, name());
      } else {
        return Result;
      }
    }
  }

  Filter brackets(const Filter &From) {
    if (Input.accept(']'))
      return each(From);
    Filter Place = pipeline();
    expect(']');
    return element(From, Place);
  }

  std::string name() {
    std::string Name = Input.takeName();
    if (Name.empty())
      fail("a name is missing");
    return Name;
  }

  Filter primary() {
    double Number;
    std::string Text;
    Input.skipBlanks();
    if (Input.takeNumber(Number))
      return constant(Number);
    if (Input.takeText(Text))
      return constant(Text);
    if (Input.accept('.')) {
      std::string Key = Input.takeName();
      return Key.empty() ? identity() : member(identity(), Key);
    }
    if (Input.accept('(')) {
      Filter Inner = pipeline();
      expect(')');
      return Inner;
    }
    if (Input.accept('['))
      return list();
    if (Input.accept('{'))
      return object();
    return call(name());
  }

  Filter list() {
    if (Input.accept(']'))
      return constant(Json::array());
    Filter Items = pipeline();
    expect(']');
    return collect(Items);
  }

  Filter object() {
    std::vector<std::pair<std::string, Filter>> Members;
    if (Input.accept('}'))
      return makeObject(Members);
    do {
      Input.skipBlanks();
      std::string Key = name();
      Filter Value =
          Input.accept(':') ? expression(0) : member(identity(), Key);
      Members.emplace_back(Key, Value);
    } while (Input.accept(','));
    expect('}');
    return makeObject(Members);
  }

  Filter call(const std::string &Name) {
    if (Name == "true" || Name == "false")
      return constant(Name == "true");
    if (Name == "null")
      return constant(Json());
    std::vector<Filter> Arguments;
    if (Input.accept('(')) {
      do
        Arguments.push_back(pipeline());
      while (Input.accept(';'));
      expect(')');
    }
    return function(Name, Arguments);
  }

  Scanner Input;
};

} // namespace

Filter parseFilter(std::string_view Source) {
  return FilterParser(Source).query();
}

} // namespace query
