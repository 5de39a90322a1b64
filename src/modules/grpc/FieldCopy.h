//===- FieldCopy.h - Elements to and from fields ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_FIELDCOPY_H
#define CBRIDGE_MODULES_GRPC_FIELDCOPY_H

#include "modules/grpc/FieldBinding.h"

#include <cbridge/TensorStorage.h>

#include <google/protobuf/message.h>

namespace cbridge {

/// Writes Count elements of V, from First on, to the leaf of B in To.
Status putElements(google::protobuf::Message &To, const FieldBinding &B,
                   const TensorView &V, size_t First, size_t Count);

/// How many elements the leaf of B in From has. Fails if it is not there where
/// messages tell that, or has a number that its enum has not.
Expected<size_t> countElements(const google::protobuf::Message &From,
                               const FieldBinding &B);
/// Copies all of them, which are no strings.
Status takeElements(const google::protobuf::Message &From,
                    const FieldBinding &B, unsigned char *To);
/// One of them, which are strings. Scratch may hold it.
Expected<std::string_view> takeString(const google::protobuf::Message &From,
                                      const FieldBinding &B, size_t I,
                                      std::string &Scratch);

/// Sets a field that is no message to a number, or to its default if it cannot
/// hold that: false then.
bool putNumber(google::protobuf::Message &To, Field F, uint64_t Value);
/// Gives the fields that must be there, and are not, their defaults.
void putRequired(google::protobuf::Message &To);

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_FIELDCOPY_H
