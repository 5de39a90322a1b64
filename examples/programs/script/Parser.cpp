//===- Parser.cpp - From tokens to a tree ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Parser.h"

#include "Lexer.h"

#include <algorithm>
#include <cstdlib>

namespace script {
namespace {

class Parser {
public:
  explicit Parser(const std::string &Source) : Tokens(tokenize(Source)) {}

  Block script() {
    Block Result;
    while (peek().Kind != TokenKind::End)
      Result.push_back(statement());
    return Result;
  }

private:
  const Token &peek() const { return Tokens[At]; }
  int line() const { return peek().Line; }
  const Token &take() { return Tokens[At + 1 < Tokens.size() ? At++ : At]; }

  bool accept(const char *Spelling) {
    if (!peek().is(Spelling))
      return false;
    take();
    return true;
  }

  void expect(const char *Spelling) {
    if (!accept(Spelling))
      throw Error(line(), std::string("expected '") + Spelling + "', got '" +
                              peek().Text + "'");
  }

  std::string name() {
    static const char *const Keywords[] = {"let",   "fn",    "if",  "else",
                                           "while", "for",   "in",  "return",
                                           "try",   "catch", "and", "or"};
    const Token &Name = take();
    if (Name.Kind != TokenKind::Name ||
        std::any_of(std::begin(Keywords), std::end(Keywords),
                    [&](const char *Word) { return Name.Text == Word; }))
      throw Error(Name.Line, "expected a name, got '" + Name.Text + "'");
    return Name.Text;
  }

  Block block() {
    Block Result;
    expect("{");
    while (!accept("}"))
      Result.push_back(statement());
    return Result;
  }

  StmtPtr statement() {
    int Line = line();
    if (accept("let"))
      return definition(Line);
    if (accept("if"))
      return conditional(Line);
    if (accept("while")) {
      auto Loop = std::make_unique<While>(Line);
      Loop->Condition = expression();
      Loop->Body = block();
      return Loop;
    }
    if (accept("for"))
      return forEach(Line);
    if (accept("try"))
      return tryCatch(Line);
    if (accept("return"))
      return leave(Line, Flow::Return);
    if (accept("break"))
      return leave(Line, Flow::Break);
    if (peek().is("fn") && Tokens[At + 1].Kind == TokenKind::Name) {
      take();
      std::string Name = peek().Text;
      return std::make_unique<Define>(Line, Name, function(Line, name()));
    }
    return simple(Line);
  }

  StmtPtr definition(int Line) {
    std::string Name = name();
    expect("=");
    auto Result = std::make_unique<Define>(Line, Name, expression());
    expect(";");
    return Result;
  }

  StmtPtr conditional(int Line) {
    auto Result = std::make_unique<If>(Line);
    Result->Condition = expression();
    Result->Then = block();
    if (accept("else")) {
      if (peek().is("if"))
        Result->Else.push_back(statement());
      else
        Result->Else = block();
    }
    return Result;
  }

  StmtPtr forEach(int Line) {
    auto Loop = std::make_unique<ForEach>(Line);
    Loop->Name = name();
    expect("in");
    Loop->Items = expression();
    Loop->Body = block();
    return Loop;
  }

  StmtPtr tryCatch(int Line) {
    auto Result = std::make_unique<Try>(Line);
    Result->Body = block();
    expect("catch");
    Result->Name = name();
    Result->Handler = block();
    return Result;
  }

  StmtPtr leave(int Line, Flow How) {
    auto Result = std::make_unique<Leave>(Line, How);
    if (How == Flow::Return && !peek().is(";"))
      Result->Result = expression();
    expect(";");
    return Result;
  }

  StmtPtr simple(int Line) {
    ExprPtr Left = expression();
    StmtPtr Result;
    if (accept("="))
      Result = std::make_unique<Assign>(Line, std::move(Left), expression());
    else
      Result = std::make_unique<Evaluate>(Line, std::move(Left));
    expect(";");
    return Result;
  }

  ExprPtr expression() { return binary(0); }

  /// How tightly an operator binds; negative if it is none.
  static int rank(const Token &Operator) {
    static const std::vector<std::vector<const char *>> Ranks = {
        {"or"},
        {"and"},
        {"==", "!=", "<", "<=", ">", ">="},
        {"+", "-"},
        {"*", "/", "%"}};
    for (size_t I = 0; I < Ranks.size(); ++I)
      for (const char *Spelling : Ranks[I])
        if (Operator.is(Spelling))
          return static_cast<int>(I);
    return -1;
  }

  ExprPtr binary(int Least) {
    ExprPtr Left = unary();
    for (int Rank = rank(peek()); Rank >= Least; Rank = rank(peek())) {
      Token Operator = take();
      Left = std::make_unique<Binary>(Operator.Line, Operator.Text,
                                      std::move(Left), binary(Rank + 1));
    }
    return Left;
  }

  ExprPtr unary() {
    int Line = line();
    if (accept("-"))
      return std::make_unique<Unary>(Line, false, unary());
    if (accept("not"))
      return std::make_unique<Unary>(Line, true, unary());
    return postfix(primary());
  }

  ExprPtr postfix(ExprPtr Object) {
    for (;;) {
      int Line = line();
      if (accept("(")) {
        auto Result = std::make_unique<Call>(Line, std::move(Object));
        Result->Arguments = expressions(")");
        Object = std::move(Result);
      } else if (accept("[")) {
        Object = std::make_unique<Index>(Line, std::move(Object), expression());
        expect("]");
      } else if (accept(".")) {
        Object = std::make_unique<Index>(
            Line, std::move(Object), std::make_unique<Constant>(Line, name()));
      } else {
        return Object;
      }
    }
  }

  std::vector<ExprPtr> expressions(const char *Close) {
    std::vector<ExprPtr> Result;
    while (!accept(Close)) {
      if (!Result.empty())
        expect(",");
      Result.push_back(expression());
    }
    return Result;
  }

  ExprPtr function(int Line, std::string Name) {
    auto Result = std::make_unique<FunctionMaker>(Line);
    Result->Name = std::move(Name);
    expect("(");
    while (!accept(")")) {
      if (!Result->Parameters.empty())
        expect(",");
      Result->Parameters.push_back(name());
    }
    Result->Body = block();
    return Result;
  }

  ExprPtr map(int Line) {
    auto Result = std::make_unique<MapMaker>(Line);
    while (!accept("}")) {
      if (!Result->Entries.empty())
        expect(",");
      std::string Key = peek().Kind == TokenKind::Text ? take().Text : name();
      expect(":");
      Result->Entries.emplace_back(Key, expression());
    }
    return Result;
  }

  ExprPtr constant(int Line, Value Const) {
    take();
    return std::make_unique<Constant>(Line, std::move(Const));
  }

  ExprPtr primary() {
    int Line = line();
    if (peek().Kind == TokenKind::Number)
      return constant(Line, std::strtod(peek().Text.c_str(), nullptr));
    if (peek().Kind == TokenKind::Text)
      return constant(Line, peek().Text);
    if (peek().is("true") || peek().is("false"))
      return constant(Line, peek().is("true"));
    if (peek().is("nil"))
      return constant(Line, Value());
    if (accept("fn"))
      return function(Line, "anonymous");
    if (accept("[")) {
      auto Result = std::make_unique<ListMaker>(Line);
      Result->Items = expressions("]");
      return Result;
    }
    if (accept("{"))
      return map(Line);
    if (accept("(")) {
      ExprPtr Inner = expression();
      expect(")");
      return Inner;
    }
    return std::make_unique<Variable>(Line, name());
  }

  std::vector<Token> Tokens;
  size_t At = 0;
};

} // namespace

Block parse(const std::string &Source) { return Parser(Source).script(); }

} // namespace script
