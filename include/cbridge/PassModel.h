//===- PassModel.h - The model of a pass in a plugin ------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSMODEL_H
#define CBRIDGE_PASSMODEL_H

#include <cbridge/MLModelRunner.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace cbridge {

/// Whether users want the plain compiler: CBRIDGE_DISABLE is set, and not to 0.
inline bool isDisabled() {
  const char *Value = std::getenv("CBRIDGE_DISABLE");
  return Value && *Value && std::string_view(Value) != "0";
}

/// Tells users why a model does not decide and who does, in one plain line on
/// stderr, the way that plugins do: through a compiler's diagnostics it would
/// be a warning, which fails a compile under -Werror.
inline void tellUser(const std::string &About, const Status &Why,
                     const std::string &Instead) {
  // Other lines of a message point at a place in a string.
  const std::string &Message = Why.message();
  std::string Line = "cbridge: " + About + ": " +
                     Message.substr(0, Message.find('\n')) + "; " + Instead +
                     "\n";
  std::fwrite(Line.data(), 1, Line.size(), stderr);
}

/// The model that the environment variable names, for a pass with this
/// signature. Opened when it is first asked for, shared by all threads of the
/// plugin, and never destroyed: compilers end, and unload their plugins, as
/// they like. Never fails: without a model, or if CBRIDGE_DISABLE is set, it
/// abstains, and evaluateOr takes the pass's own decision. Users are told once
/// why a model does not decide.
inline const Model &passModel(const std::string &Variable,
                              const Signature &Sig) {
  struct Table {
    std::mutex Mutex;
    std::map<std::string, Model, std::less<>> Opened;
  };
  static Table &Models = *new Table;
  std::lock_guard<std::mutex> Lock(Models.Mutex);
  if (auto Found = Models.Opened.find(Variable); Found != Models.Opened.end())
    return Found->second;
  auto Tell = [Variable](const Status &Why) {
    tellUser(Variable, Why, "where the model does not decide, the pass does");
  };
  const char *Value = isDisabled() ? nullptr : std::getenv(Variable.c_str());
  Expected<Model> Made =
      Model::open(Value && *Value ? Value : "heuristic:", Sig, Tell);
  if (!Made) {
    Tell(Made.status());
    Made = Model::open("heuristic:", Sig);
  }
  assert(Made && "the signature of a pass must be valid");
  return Models.Opened.emplace(Variable, std::move(*Made)).first->second;
}

/// The same where every feature and the decision is one int64_t, as those of
/// LLVM's own passes are.
inline const Model &passModel(const std::string &Variable,
                              std::initializer_list<const char *> Features,
                              const char *Decision) {
  std::vector<TensorSpec> Inputs;
  for (const char *Name : Features)
    Inputs.push_back(TensorSpec::create<int64_t>(Name));
  return passModel(Variable, Signature(std::move(Inputs),
                                       TensorSpec::create<int64_t>(Decision)));
}

} // namespace cbridge

#endif // CBRIDGE_PASSMODEL_H
