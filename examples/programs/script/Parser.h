//===- Parser.h - From tokens to a tree -------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef SCRIPT_PARSER_H
#define SCRIPT_PARSER_H

#include "Ast.h"

namespace script {

/// Throws Error.
Block parse(const std::string &Source);

} // namespace script

#endif
