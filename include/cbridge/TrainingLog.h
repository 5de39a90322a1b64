//===- TrainingLog.h - Decisions in a file ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TRAININGLOG_H
#define CBRIDGE_TRAININGLOG_H

#include <cbridge/Signature.h>
#include <cbridge/TensorStorage.h>

#include <memory>
#include <optional>

namespace cbridge {

/// One recorded decision. A view: whoever hands one out says how long it lives.
struct LogRecord {
  /// What was being compiled.
  std::string_view Context;
  /// Which decision of the context, counted from 0.
  uint64_t Ordinal = 0;
  Span<const TensorView> Features;
  /// Empty if the log holds none.
  Span<const TensorView> Decision;
  /// Nothing if nobody told.
  std::optional<double> Reward;
};

/// Writes the log of one thread's decisions: LLVM's training log where that can
/// hold the signature, else the extension of docs/formats/log.md.
///
/// A decision is one write(2), so that a process may be killed at any moment
/// and leaves a log that can be read. After the first failure every call
/// returns that failure and does nothing. A forked child cannot write to its
/// parent's log. Allocates nothing once sizes have been reached before.
/// Move-only; not thread-safe.
class LogWriter {
public:
  enum Existing { Replace, Refuse };
  /// Creates the file Path; nothing is written before the first decision.
  static Expected<LogWriter> open(const std::string &Path, Signature Sig,
                                  Existing IfThere = Replace);
  LogWriter(LogWriter &&) noexcept;
  LogWriter &operator=(LogWriter &&) noexcept;
  /// Finishes, without telling whether that worked.
  ~LogWriter();

  /// Writes a decision; the one before it will not get a reward any more.
  Status observe(std::string_view Context, uint64_t Ordinal,
                 Span<const TensorView> Features,
                 Span<const TensorView> Decision);
  /// The same, counting the decisions of each context.
  Status observe(std::string_view Context, Span<const TensorView> Features,
                 Span<const TensorView> Decision);
  /// Writes how good the latest decision turned out to be; rounded to a float.
  Status reward(double Value);
  /// The latest decision gets no reward any more.
  Status finish();

  const std::string &path() const;
  const Signature &signature() const;

private:
  struct State;
  explicit LogWriter(std::unique_ptr<State> S);
  std::unique_ptr<State> S;
};

/// Reads a log from its beginning to its end, one decision at a time: those of
/// LogWriter, of LLVM's logger, and what an LLVM compiler writes to its
/// interactive channel. Takes no more memory than its longest decision needs,
/// and none for sizes that the file only claims. Move-only; not thread-safe.
class LogReader {
public:
  /// Fails with Unavailable if the file ends before its first line does: it
  /// holds no decision. Wrong content is a Protocol error that names file and
  /// byte.
  static Expected<LogReader> open(const std::string &Path);
  /// The same for bytes that the caller keeps; Name is for messages.
  static Expected<LogReader> over(Bytes Content, std::string Name);
  LogReader(LogReader &&) noexcept;
  LogReader &operator=(LogReader &&) noexcept;
  ~LogReader();

  /// The features, and as outputs the decision; none if the log holds none.
  const Signature &signature() const;
  /// What the compiler asked for, even if the log does not hold it.
  const std::optional<TensorSpec> &advice() const;
  const std::optional<TensorSpec> &score() const;

  /// The next decision, valid until the next call; null at the end.
  Expected<const LogRecord *> next();
  /// At the end: whether the file was cut off, within a decision or before the
  /// outcome of its last one.
  bool cut() const;
  const std::string &path() const;

private:
  struct State;
  explicit LogReader(std::unique_ptr<State> S);
  std::unique_ptr<State> S;
};

/// The logs that Path means: itself, or if it is a directory the files in it
/// whose names end in ".log", in the order of their names.
Expected<std::vector<std::string>> findLogs(const std::string &Path);

} // namespace cbridge

#endif // CBRIDGE_TRAININGLOG_H
