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

Expected<Scheme> Registry::lookUp(const RunnerString &R) const {
  if (const Scheme *Added = find(R.scheme()))
    return *Added;
  std::string Why;
  if (Elsewhere) {
    Expected<Scheme> Found = Elsewhere(R.scheme());
    if (Found || Found.status().code() != StatusCode::InvalidArgument)
      return Found;
    Why = ", and " + Found.status().message();
  }
  std::string Known;
  for (const Scheme &S : Schemes)
    Known += (Known.empty() ? "" : ", ") + S.Name + ":";
  return R.errorAtScheme("there is no scheme '" + R.scheme() +
                         ":'; there are " + Known + Why);
}

} // namespace cbridge
