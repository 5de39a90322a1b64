//===- FieldCopy.h - Elements and how they travel ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_FIELDCOPY_H
#define CBRIDGE_MODULES_GRPC_PROTO_FIELDCOPY_H

#include "modules/grpc/proto/FieldBinding.h"

namespace cbridge {

/// An element of that type as a field of that kind: the number of a varint, or
/// the bits of a fixed one.
uint64_t toWire(ProtoKind Kind, ElementType Type, const unsigned char *From);
/// The other way.
void fromWire(ProtoKind Kind, uint64_t Value, ElementType Type,
              unsigned char *To);
/// Whether elements of that type travel as they lie in memory.
bool travelsAsIs(ProtoKind Kind, ElementType Type);
/// An element as an integer.
int64_t integerAt(ElementType Type, const unsigned char *From);

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_FIELDCOPY_H
