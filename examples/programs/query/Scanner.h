//===- Scanner.h - The words of JSON and of queries -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef QUERY_SCANNER_H
#define QUERY_SCANNER_H

#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>

namespace query {

/// Walks over a text, which outlives it.
class Scanner {
public:
  explicit Scanner(std::string_view Source) : Source(Source) {}

  bool atEnd() const { return At == Source.size(); }
  char peek() const { return atEnd() ? '\0' : Source[At]; }
  std::string_view consumed() const { return Source.substr(0, At); }
  std::string_view rest() const { return Source.substr(At); }

  void skipBlanks() {
    while (!atEnd() && std::isspace(static_cast<unsigned char>(peek())))
      ++At;
  }

  /// Skips blanks, then takes C if it is next.
  bool accept(char C) {
    skipBlanks();
    if (peek() != C || atEnd())
      return false;
    ++At;
    return true;
  }

  bool accept(std::string_view Symbol) {
    skipBlanks();
    if (rest().substr(0, Symbol.size()) != Symbol)
      return false;
    At += Symbol.size();
    return true;
  }

  /// Letters, digits and '_'; empty if there are none.
  std::string takeName() {
    size_t Start = At;
    while (!atEnd() &&
           (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '_'))
      ++At;
    return std::string(Source.substr(Start, At - Start));
  }

  bool takeNumber(double &Number) {
    size_t Start = At;
    while (!atEnd() && (std::isdigit(static_cast<unsigned char>(peek())) ||
                        (peek() == '-' && At == Start) || peek() == '.'))
      ++At;
    std::string Digits(Source.substr(Start, At - Start));
    char *End;
    Number = std::strtod(Digits.c_str(), &End);
    if (!Digits.empty() && !*End)
      return true;
    At = Start;
    return false;
  }

  /// A text in quotes, which are next.
  bool takeText(std::string &Text) {
    if (peek() != '"')
      return false;
    for (++At; !atEnd() && peek() != '"'; ++At) {
      if (peek() == '\\' && At + 1 < Source.size()) {
        ++At;
        Text += peek() == 'n' ? '\n' : peek() == 't' ? '\t' : peek();
      } else {
        Text += peek();
      }
    }
    if (atEnd())
      return false;
    ++At;
    return true;
  }

private:
  std::string_view Source;
  size_t At = 0;
};

} // namespace query

#endif
