//===- Registry.cpp - Which schemes there are -----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Registry.h>

namespace cbridge {

void Registry::add(Scheme S) {
  for (Scheme &Known : Schemes)
    if (Known.Name == S.Name) {
      Known = std::move(S);
      return;
    }
  Schemes.push_back(std::move(S));
}

const Scheme *Registry::find(std::string_view Name) const {
  for (const Scheme &S : Schemes)
    if (S.Name == Name)
      return &S;
  return nullptr;
}

} // namespace cbridge
