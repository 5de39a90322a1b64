//===- Parser.cpp - Reading statements ------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Statement.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace tables {
namespace {

struct Token {
  enum class Kind { Word, Number, Text, Symbol, End };
  Kind What;
  std::string Text;
};

bool isWordPart(char C) {
  return std::isalnum(static_cast<unsigned char>(C)) || C == '_' || C == '.';
}

bool isDigit(char C) { return std::isdigit(static_cast<unsigned char>(C)); }

template <typename Predicate>
std::string takeWhile(const std::string &Source, size_t &At, Predicate Fits) {
  size_t Start = At;
  while (At < Source.size() && Fits(Source[At]))
    ++At;
  return Source.substr(Start, At - Start);
}

std::string takeQuoted(const std::string &Source, size_t &At) {
  size_t End = Source.find('\'', At + 1);
  if (End == std::string::npos)
    throw Error("a text lacks its closing quote");
  std::string Text = Source.substr(At + 1, End - At - 1);
  At = End + 1;
  return Text;
}

std::string takeSymbol(const std::string &Source, size_t &At) {
  size_t Size = 1;
  std::string Pair = Source.substr(At, 2);
  if (Pair == "<=" || Pair == ">=" || Pair == "<>")
    Size = 2;
  At += Size;
  return Pair.substr(0, Size);
}

std::vector<Token> tokenize(const std::string &Source) {
  std::vector<Token> Result;
  for (size_t At = 0; At < Source.size();) {
    char C = Source[At];
    if (std::isspace(static_cast<unsigned char>(C)))
      ++At;
    else if (isDigit(C))
      Result.push_back(
          {Token::Kind::Number, takeWhile(Source, At, isWordPart)});
    else if (isWordPart(C))
      Result.push_back({Token::Kind::Word, takeWhile(Source, At, isWordPart)});
    else if (C == '\'')
      Result.push_back({Token::Kind::Text, takeQuoted(Source, At)});
    else
      Result.push_back({Token::Kind::Symbol, takeSymbol(Source, At)});
  }
  Result.push_back({Token::Kind::End, "the end"});
  return Result;
}

ExprPtr makeExpr(Expr::Kind What, std::string Name, ExprPtr Left = nullptr,
                 ExprPtr Right = nullptr) {
  auto Result = std::make_unique<Expr>();
  Result->What = What;
  Result->Name = std::move(Name);
  Result->Left = std::move(Left);
  Result->Right = std::move(Right);
  return Result;
}

ExprPtr makeConstant(Cell Value) {
  ExprPtr Result = makeExpr(Expr::Kind::Constant, Value.str());
  Result->Value = std::move(Value);
  return Result;
}

class Parser {
public:
  explicit Parser(const std::string &Source) : Tokens(tokenize(Source)) {}

  Statement statement() {
    Statement Result = oneOfThem();
    if (peek().What != Token::Kind::End)
      unexpected("the end");
    return Result;
  }

private:
  const Token &peek() const { return Tokens[At]; }
  std::string take() { return Tokens[At + 1 < Tokens.size() ? At++ : At].Text; }
  bool is(const char *Spelling) const {
    return (peek().What == Token::Kind::Word ||
            peek().What == Token::Kind::Symbol) &&
           peek().Text == Spelling;
  }
  bool accept(const char *Spelling) {
    bool Is = is(Spelling);
    if (Is)
      take();
    return Is;
  }
  [[noreturn]] void unexpected(const std::string &Wanted) const {
    throw Error("expected " + Wanted + ", got '" + peek().Text + "'");
  }
  void expect(const char *Spelling) {
    if (!accept(Spelling))
      unexpected(std::string("'") + Spelling + "'");
  }
  std::string word(const char *What) {
    if (peek().What != Token::Kind::Word)
      unexpected(What);
    return take();
  }
  double number() {
    if (peek().What != Token::Kind::Number)
      unexpected("a number");
    std::string Digits = take();
    char *End;
    double Result = std::strtod(Digits.c_str(), &End);
    if (*End || !std::isfinite(Result))
      throw Error("'" + Digits + "' is not a number");
    return Result;
  }

  /// Calls Part for each of a list with commas.
  template <typename Function> void commas(Function Part) {
    do
      Part();
    while (accept(","));
  }

  Statement oneOfThem() {
    if (accept("create"))
      return create();
    if (accept("insert"))
      return insert();
    if (accept("select"))
      return select();
    if (accept("update"))
      return update();
    if (accept("delete")) {
      expect("from");
      Delete Result;
      Result.Table = word("a table");
      Result.Where = where();
      return Result;
    }
    if (accept("drop")) {
      expect("table");
      return Drop{word("a table")};
    }
    unexpected("a statement");
  }

  Statement create() {
    Create Result;
    expect("table");
    Result.Table = word("a table");
    expect("(");
    commas([&] {
      std::string Name = word("a column");
      Type Kind = Type::Number;
      if (accept("text"))
        Kind = Type::Text;
      else
        expect("number");
      Result.Empty.Columns.push_back({Result.Table, Name, Kind});
    });
    expect(")");
    return Result;
  }

  Statement insert() {
    Insert Result;
    expect("into");
    Result.Table = word("a table");
    expect("values");
    commas([&] {
      Row Values;
      expect("(");
      commas([&] { Values.push_back(literal()); });
      expect(")");
      Result.Rows.push_back(std::move(Values));
    });
    return Result;
  }

  Cell literal() {
    if (peek().What == Token::Kind::Text)
      return take();
    if (accept("-"))
      return -number();
    return number();
  }

  Statement update() {
    Update Result;
    Result.Table = word("a table");
    expect("set");
    commas([&] {
      std::string Name = word("a column");
      expect("=");
      Result.Changes.emplace_back(Name, expression());
    });
    Result.Where = where();
    return Result;
  }

  Statement select() {
    Select Result;
    Result.Distinct = accept("distinct");
    if (!accept("*"))
      commas([&] { Result.Items.push_back(item()); });
    expect("from");
    Result.Table = word("a table");
    while (accept("join")) {
      std::string Table = word("a table");
      expect("on");
      Result.Joins.push_back({Table, expression()});
    }
    Result.Where = where();
    if (accept("group")) {
      expect("by");
      commas([&] { Result.Groups.push_back(word("a column")); });
    }
    if (accept("having"))
      Result.Having = expression();
    if (accept("order")) {
      expect("by");
      commas([&] {
        std::string Name = word("a column");
        Result.Orders.push_back({Name, accept("desc")});
      });
    }
    if (accept("limit"))
      Result.Limit = static_cast<size_t>(std::min(number(), 1e9));
    return Result;
  }

  Select::Item item() {
    Select::Item Result;
    size_t Start = At;
    Result.Value = expression();
    if (accept("as"))
      Result.Name = word("a name");
    else
      for (; Start < At; ++Start)
        Result.Name += Tokens[Start].Text;
    return Result;
  }

  ExprPtr where() { return accept("where") ? expression() : nullptr; }

  ExprPtr expression() { return binary(0); }

  ExprPtr binary(size_t Rank) {
    static const std::vector<std::vector<const char *>> Ranks = {
        {"or"},
        {"and"},
        {"=", "<>", "<", "<=", ">", ">=", "like"},
        {"+", "-"},
        {"*", "/"}};
    if (Rank == Ranks.size())
      return unary();
    ExprPtr Left = binary(Rank + 1);
    auto IsNext = [&](const char *Operator) { return is(Operator); };
    while (std::any_of(Ranks[Rank].begin(), Ranks[Rank].end(), IsNext)) {
      std::string Operator = take();
      Left = makeExpr(Expr::Kind::Binary, Operator, std::move(Left),
                      binary(Rank + 1));
    }
    return Left;
  }

  ExprPtr unary() {
    if (is("not") || is("-")) {
      std::string Operator = take();
      return makeExpr(Expr::Kind::Unary, Operator, unary());
    }
    if (accept("(")) {
      ExprPtr Inner = expression();
      expect(")");
      return Inner;
    }
    if (peek().What != Token::Kind::Word)
      return makeConstant(literal());
    std::string Name = take();
    if (!accept("("))
      return makeExpr(Expr::Kind::Column, Name);
    ExprPtr Argument = accept("*") ? makeConstant(1.0) : expression();
    expect(")");
    return makeExpr(Expr::Kind::Aggregate, Name, std::move(Argument));
  }

  std::vector<Token> Tokens;
  size_t At = 0;
};

} // namespace

bool Expr::hasAggregate() const {
  return What == Kind::Aggregate || (Left && Left->hasAggregate()) ||
         (Right && Right->hasAggregate());
}

Statement parseStatement(const std::string &Source) {
  return Parser(Source).statement();
}

} // namespace tables
