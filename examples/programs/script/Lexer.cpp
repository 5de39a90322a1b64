//===- Lexer.cpp - From text to tokens ------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lexer.h"

#include "Value.h"

#include <cctype>
#include <cstring>

namespace script {
namespace {

bool isDigit(char C) { return std::isdigit(static_cast<unsigned char>(C)); }
bool isSpace(char C) { return std::isspace(static_cast<unsigned char>(C)); }
bool isNameStart(char C) {
  return C == '_' || std::isalpha(static_cast<unsigned char>(C));
}
bool isNamePart(char C) { return isNameStart(C) || isDigit(C); }

class Lexer {
public:
  explicit Lexer(const std::string &Source) : Source(Source) {}

  std::vector<Token> run() {
    for (skipBlanks(); !atEnd(); skipBlanks())
      next();
    add(TokenKind::End, "the end");
    return std::move(Tokens);
  }

private:
  bool atEnd() const { return At == Source.size(); }
  char peek(size_t Ahead = 0) const {
    return At + Ahead < Source.size() ? Source[At + Ahead] : '\0';
  }
  char take() {
    char C = Source[At++];
    Line += C == '\n';
    return C;
  }
  void add(TokenKind Kind, std::string Text) {
    Tokens.push_back({Kind, std::move(Text), Line});
  }

  void skipBlanks() {
    while (!atEnd() && (isSpace(peek()) || peek() == '#'))
      if (take() == '#')
        while (!atEnd() && peek() != '\n')
          take();
  }

  template <typename Predicate> std::string takeWhile(Predicate Fits) {
    std::string Result;
    while (!atEnd() && Fits(peek()))
      Result += take();
    return Result;
  }

  void next() {
    if (isNameStart(peek()))
      add(TokenKind::Name, takeWhile(isNamePart));
    else if (isDigit(peek()))
      addNumber();
    else if (peek() == '"')
      addText();
    else
      addSymbol();
  }

  void addNumber() {
    std::string Digits = takeWhile(isDigit);
    if (peek() == '.' && isDigit(peek(1))) {
      Digits += take();
      Digits += takeWhile(isDigit);
    }
    add(TokenKind::Number, Digits);
  }

  void addText() {
    int Start = Line;
    std::string Text;
    for (take(); peek() != '"';) {
      if (atEnd())
        throw Error(Start, "a text lacks its closing quote");
      char C = take();
      if (C == '\\' && !atEnd())
        C = escaped(take());
      Text += C;
    }
    take();
    add(TokenKind::Text, Text);
  }

  static char escaped(char C) {
    switch (C) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    default:
      return C;
    }
  }

  void addSymbol() {
    static const char *const Pairs[] = {"==", "!=", "<=", ">="};
    for (const char *Pair : Pairs)
      if (peek() == Pair[0] && peek(1) == Pair[1]) {
        At += 2;
        return add(TokenKind::Symbol, Pair);
      }
    if (!std::strchr("+-*/%<>=(){}[],;:.", peek()))
      throw Error(Line, std::string("unexpected character '") + peek() + "'");
    add(TokenKind::Symbol, std::string(1, take()));
  }

  const std::string &Source;
  size_t At = 0;
  int Line = 1;
  std::vector<Token> Tokens;
};

} // namespace

std::vector<Token> tokenize(const std::string &Source) {
  return Lexer(Source).run();
}

} // namespace script
