//===- Wire.cpp - The wire format of Protocol Buffers ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "core/Wire.h"

namespace cbridge::wire {

bool isUtf8(std::string_view Text) {
  for (size_t I = 0; I < Text.size();) {
    auto First = static_cast<unsigned char>(Text[I++]);
    if (First < 0x80)
      continue;
    unsigned More = First >= 0xF0 ? 3 : First >= 0xE0 ? 2 : 1;
    if (First < 0xC2 || First > 0xF4 || Text.size() - I < More)
      return false;
    uint32_t Point = First & (0x3FU >> More);
    for (; More; --More) {
      auto Next = static_cast<unsigned char>(Text[I++]);
      if (Next >> 6 != 2)
        return false;
      Point = Point << 6 | (Next & 0x3FU);
    }
    uint32_t Least = First >= 0xF0 ? 0x10000 : First >= 0xE0 ? 0x800 : 0x80;
    if (Point < Least || Point > 0x10FFFF || Point >> 11 == 0x1B)
      return false;
  }
  return true;
}

} // namespace cbridge::wire
