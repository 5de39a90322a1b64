//===- Recorder.h - Decisions on their way to a log -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_RUNNER_RECORDER_H
#define CBRIDGE_RUNNER_RECORDER_H

#include <cbridge/Engine.h>
#include <cbridge/TrainingLog.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>

namespace cbridge {

/// `record=DIR`: what the runners of a model share. Thread-safe.
class Recording {
public:
  /// Told once, why nothing (more) is recorded.
  using Sink = std::function<void(const Status &)>;

  /// Makes the directory if its parent exists.
  static Expected<std::shared_ptr<Recording>> open(std::string Folder,
                                                   Sink OnFailure);

  /// The place for the log of runner number Runner.
  std::string path(uint32_t Runner) const;
  uint32_t newRunner() { return Runners++; }
  /// Where the decisions of a context are counted; stays where it is.
  std::atomic<uint64_t> *counter(std::string_view Context);
  void tell(const Status &Why) {
    if (!Told.exchange(true) && OnFailure)
      OnFailure(Why);
  }

private:
  std::string Folder;
  Sink OnFailure;
  uint64_t Random = 0;
  std::atomic<uint32_t> Runners{0};
  std::atomic<bool> Told{false};
  std::mutex Mutex;
  std::map<std::string, std::atomic<uint64_t>, std::less<>> Counters;
};

/// A runner's part: its log, made when there is something to write. A failure
/// is told and ends the recording, nothing else.
class Recorder {
public:
  Recorder(std::shared_ptr<Recording> Into, const Signature &Sig);

  /// Input I has these extents from now on.
  void resized(size_t I, Span<const int64_t> Shape);
  /// Input I has these strings from now on. They are kept: not every engine has
  /// its own where it can be read.
  void setStrings(size_t I, Span<const std::string_view> Values,
                  Span<const int64_t> Shape);
  /// A decision is asked for: it takes its number, recorded or not.
  void begin(std::string_view Context);
  /// The decision that begin() announced.
  void record(Engine &E, Span<const TensorView> Decision);
  /// The same for the outputs of the engine.
  void record(Engine &E);
  /// Memory for a decision that is not the engine's.
  TensorStorage &taken() {
    if (!Taken)
      Taken.emplace(Sig.outputs());
    return *Taken;
  }
  void reward(double Value);
  /// The latest decision gets no reward any more.
  void settle();

private:
  bool openLog();
  void check(const Status &S);

  std::shared_ptr<Recording> Into;
  const Signature &Sig;
  uint32_t Runner;
  std::string Context;
  std::atomic<uint64_t> *Counter = nullptr;
  uint64_t Ordinal = 0;
  bool Announced = false, Rewardable = false, Stopped = false;
  std::vector<TensorView> Features, Outputs;
  std::vector<std::array<int64_t, MaxRank>> Extents;
  std::optional<TensorStorage> Taken, Strings;
  std::vector<size_t> StringPlaces; ///< of inputs, in Strings
  std::optional<LogWriter> Log;
  uint64_t LogOwner = 0; // the process that made Log
};

} // namespace cbridge

#endif // CBRIDGE_RUNNER_RECORDER_H
