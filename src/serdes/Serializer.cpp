//===- Serializer.cpp - Tensors to bytes and back -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "serdes/Serializer.h"

namespace cbridge {

Serializer::~Serializer() = default;

Status Serializer::decodeLent(Bytes, Span<const Bytes>, DecodedTensors &) {
  return Status::error(StatusCode::Unsupported,
                       "this serializer needs its payload in one piece");
}

} // namespace cbridge
