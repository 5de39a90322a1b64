//===- ForElementType.h - From an ElementType to its C++ type ---*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CORE_FORELEMENTTYPE_H
#define CBRIDGE_CORE_FORELEMENTTYPE_H

#include <cbridge/TensorSpec.h>

namespace cbridge {

/// Calls F with a value of the C++ type behind Type. Strings, which have no
/// such type, count as uint8_t: callers settle them first.
template <typename Callback> auto forElementType(ElementType Type, Callback F) {
  switch (Type) {
  case ElementType::Bool:
    return F(bool());
  case ElementType::Int8:
    return F(int8_t());
  case ElementType::Int16:
    return F(int16_t());
  case ElementType::Int32:
    return F(int32_t());
  case ElementType::Int64:
    return F(int64_t());
  case ElementType::UInt8:
  case ElementType::String:
    return F(uint8_t());
  case ElementType::UInt16:
    return F(uint16_t());
  case ElementType::UInt32:
    return F(uint32_t());
  case ElementType::UInt64:
    return F(uint64_t());
  case ElementType::Float:
    return F(float());
  case ElementType::Double:
    return F(double());
  }
  return F(uint8_t());
}

} // namespace cbridge

#endif // CBRIDGE_CORE_FORELEMENTTYPE_H
