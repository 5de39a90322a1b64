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
  /// Of a module that has a channel of the same name: whether a string is for
  /// this scheme and not for the channel. Null: all are.
  std::function<bool(const RunnerString &)> Claims = nullptr;
  /// What the model itself takes and gives. Null: only its user knows.
  std::function<Expected<Signature>(const RunnerString &)> Describe = nullptr;
};

/// The schemes that runner strings may name: a plain object, filled by hand.
/// What builtin() does not list, it looks for in modules.
class Registry {
public:
  /// The schemes of this library.
  static Registry builtin();

  /// Adds a scheme, or replaces the one of that name.
  void add(Scheme S);
  /// Adds the schemes of a module, a shared library as cbridge/module.h
  /// describes it, which stays loaded. Its serializers and channels can be
  /// named everywhere from then on.
  Status addModule(const std::string &File);
  const Scheme *find(std::string_view Name) const;
  /// The scheme of R, which may have to be loaded from a module. Fails with
  /// InvalidArgument if there is none, and with another code if its module
  /// cannot be used.
  Expected<Scheme> lookUp(const RunnerString &R) const;
  const std::vector<Scheme> &schemes() const { return Schemes; }

private:
  std::vector<Scheme> Schemes;
  /// Where else to look; null: nowhere. Fails as lookUp does.
  std::function<Expected<Scheme>(std::string_view Name)> Elsewhere;
};

} // namespace cbridge

#endif // CBRIDGE_REGISTRY_H
