//===- SignatureJson.h - Specs as JSON --------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CORE_SIGNATUREJSON_H
#define CBRIDGE_CORE_SIGNATUREJSON_H

#include "core/Json.h"

#include <cbridge/Signature.h>

namespace cbridge {

/// `[{"name":"x","type":"float","shape":[2,-1]},…]`
void appendSpecs(std::string &To, const std::vector<TensorSpec> &Specs);
/// So many tensors a side may have if it comes from outside: each may take
/// address space of its own, of which a process has only so many pieces.
constexpr size_t MaxTensors = 4096;
/// One spec of the list, checked and appended to Specs.
bool readSpec(JsonReader &Reader, std::vector<TensorSpec> &Specs);
/// The reverse of appendSpecs; checks what it reads.
bool readSpecs(JsonReader &Reader, std::vector<TensorSpec> &Specs);

} // namespace cbridge

#endif // CBRIDGE_CORE_SIGNATUREJSON_H
