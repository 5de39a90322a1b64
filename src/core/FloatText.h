//===- FloatText.h - Floats as decimal text, fast ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CORE_FLOATTEXT_H
#define CBRIDGE_CORE_FLOATTEXT_H

namespace cbridge {

/// The room that writeFloat needs, more than its text is long.
constexpr int FloatTextRoom = 32;

/// Writes a finite Value so that reading it gives it back exactly: as it is if
/// it has few digits, else with nine, which always suffice. Returns the end.
char *writeFloat(char *To, float Value);

/// std::from_chars, faster for what writeFloat writes.
bool readFloat(const char *&From, const char *End, float &Value);

} // namespace cbridge

#endif // CBRIDGE_CORE_FLOATTEXT_H
