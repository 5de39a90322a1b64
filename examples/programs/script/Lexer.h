//===- Lexer.h - From text to tokens ----------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef SCRIPT_LEXER_H
#define SCRIPT_LEXER_H

#include <string>
#include <vector>

namespace script {

enum class TokenKind { End, Number, Text, Name, Symbol };

struct Token {
  TokenKind Kind;
  std::string Text;
  int Line;

  bool is(const char *Spelling) const {
    return (Kind == TokenKind::Symbol || Kind == TokenKind::Name) &&
           Text == Spelling;
  }
};

/// The last token is an End. Throws Error.
std::vector<Token> tokenize(const std::string &Source);

} // namespace script

#endif
