//===- RecordedDecisions.h - A log in memory --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_REPLAY_RECORDEDDECISIONS_H
#define CBRIDGE_ENGINE_REPLAY_RECORDEDDECISIONS_H

#include "core/AlignedBuffer.h"

#include <cbridge/TrainingLog.h>

#include <atomic>
#include <map>

namespace cbridge {

/// The decisions of one or several logs, by context and ordinal, for one
/// signature. Immutable once loaded, but for the counters.
class RecordedDecisions {
public:
  /// Without CompareFeatures only the decisions are kept.
  static Expected<std::shared_ptr<RecordedDecisions>>
  load(const std::string &Path, const Signature &Sig, bool CompareFeatures);
  /// Decisions are found by the values of the features Keys alone.
  static Expected<std::shared_ptr<RecordedDecisions>>
  loadByKey(const std::string &Path, const Signature &Sig,
            const std::vector<std::string> &Keys);

  /// The decisions of one context, and how many have been asked for.
  struct Context {
    /// Records begin here; several of one ordinal if it is in several logs.
    std::multimap<uint64_t, size_t> ByOrdinal;
    mutable std::atomic<uint64_t> Asked{0};
    /// With keys: the latest record that has each.
    std::map<std::string, size_t, std::less<>> ByKey;
  };
  /// Null if no log has it.
  const Context *find(std::string_view Name) const;

  /// Copies the recorded decision to Outputs. Fails, naming what differs, if
  /// no record of that ordinal has the features Inputs.
  Status decide(std::string_view Name, const Context &In, uint64_t Ordinal,
                const TensorStorage &Inputs, TensorStorage &Outputs) const;

  bool hasKeys() const { return !KeyInputs.empty(); }
  /// The same by key. Abstains if no record of the context has Inputs' keys.
  Status decideByKey(std::string_view Name, const TensorStorage &Inputs,
                     TensorStorage &Outputs) const;

private:
  Status readAll();
  Status add(const std::string &File);
  Status map(const std::string &File, const Signature &Logged);
  Status keep(const LogRecord &R);
  Status keep(const TensorView &V);
  /// The tensor at Place, and in it the place of the next one.
  TensorView view(size_t &Place, const TensorSpec &Spec) const;

  std::string Path;
  Signature Sig;
  bool CompareFeatures = true;
  std::vector<size_t> KeyInputs; ///< which of Sig's inputs are keys
  /// Of the log being read: which of its tensors are Sig's, in Sig's order.
  std::vector<size_t> InputMap, OutputMap;
  std::map<std::string, Context, std::less<>> Contexts;
  AlignedBuffer Tensors;
  size_t Size = 0;
};

} // namespace cbridge

#endif // CBRIDGE_ENGINE_REPLAY_RECORDEDDECISIONS_H
