//===- Model.h - A runner string opened on a signature ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODEL_H
#define CBRIDGE_MODEL_H

#include <cbridge/Registry.h>

#include <functional>
#include <memory>

namespace cbridge {

class MLModelRunner;

/// Counts over the finished runners of a model.
struct ModelStats {
  uint64_t Decisions = 0; ///< taken by the model
  uint64_t Fallbacks = 0; ///< left to the pass's heuristic
  uint64_t Illegal = 0;   ///< refused: mask, range, not a number
};

/// A runner string opened on a signature.
///
/// Thread-safe and cheap to copy; copies share the model. The first transport
/// error or time-out closes it for all its runners, present and future: later
/// decisions fail at once, without waiting.
class Model {
public:
  /// Told why the model did not decide, on the thread it happens to: once for
  /// the first decision that was refused or failed, and once when the model is
  /// closed, after which it decides no more. Not told that `heuristic:` has no
  /// model. Told once that decisions cannot be recorded (`record=DIR`), which
  /// changes nothing else.
  using FallbackSink = std::function<void(const Status &)>;

  /// Opens RunnerString. With `on_error=fallback` (the default) only a
  /// malformed string or signature fails; a model that cannot be had abstains,
  /// and whyNot() tells the reason. With `on_error=fail` that fails here, too.
  static Expected<Model> open(std::string_view RunnerString, Signature Sig,
                              FallbackSink OnFallback = nullptr);
  /// The same with schemes of the caller's choice.
  static Expected<Model> open(std::string_view RunnerString, Signature Sig,
                              const Registry &Schemes,
                              FallbackSink OnFallback = nullptr);

  /// What the model of RunnerString itself takes and gives, for programs that
  /// have no signature of their own. Unsupported, if only its user knows that.
  static Expected<Signature> describe(std::string_view RunnerString);
  static Expected<Signature> describe(std::string_view RunnerString,
                                      const Registry &Schemes);

  /// A handle for one thread. Never fails: a runner that cannot be made
  /// abstains.
  MLModelRunner runner() const;

  const Signature &signature() const;
  const std::string &runnerString() const;
  /// Ok while the model decides; else why it does not.
  Status whyNot() const;
  ModelStats stats() const;

private:
  friend class MLModelRunner;
  struct Shared;
  explicit Model(std::shared_ptr<Shared> S) : S(std::move(S)) {}
  std::shared_ptr<Shared> S;
};

} // namespace cbridge

#endif // CBRIDGE_MODEL_H
