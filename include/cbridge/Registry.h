//===- Registry.h - Which schemes there are ---------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_REGISTRY_H
#define CBRIDGE_REGISTRY_H

#include <cbridge/Engine.h>
#include <cbridge/RunnerString.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cbridge {

/// Makes the engine of one runner. Called from any thread, once per runner.
using EngineSource = std::function<Expected<std::unique_ptr<Engine>>()>;

/// What `scheme:` means: its options, and how a model of it is opened.
struct Scheme {
  std::string Name;
  /// One line for people.
  std::string Help;
  /// The keys it understands beside those that every scheme has.
  std::vector<std::string_view> Keys;
  /// Opens the model once. Fails with InvalidArgument if the string is wrong,
  /// and with any other code if the model cannot be had now.
  std::function<Expected<EngineSource>(const RunnerString &, const Signature &)>
      Open;
};

/// The schemes that runner strings may name: a plain object, filled by hand.
class Registry {
public:
  /// The schemes of this library.
  static Registry builtin();

  /// Adds a scheme, or replaces the one of that name.
  void add(Scheme S);
  const Scheme *find(std::string_view Name) const;
  const std::vector<Scheme> &schemes() const { return Schemes; }

private:
  std::vector<Scheme> Schemes;
};

} // namespace cbridge

#endif // CBRIDGE_REGISTRY_H
