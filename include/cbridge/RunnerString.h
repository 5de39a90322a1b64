//===- RunnerString.h - scheme:target?key=value&... -------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_RUNNERSTRING_H
#define CBRIDGE_RUNNERSTRING_H

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace cbridge {

/// The one string that selects a runner: `scheme:target?key=value&key=value`.
/// Target and values are percent-decoded. Every error shows the string and
/// points at the place. A value: copies freely.
class RunnerString {
public:
  static Expected<RunnerString> parse(std::string_view Text);

  /// Text as a target or value must be written to mean itself.
  static std::string escape(std::string_view Text);

  const std::string &text() const { return Text; }
  const std::string &scheme() const { return Scheme; }
  const std::string &target() const { return Target; }

  bool hasOptions() const { return !Options.empty(); }
  bool has(std::string_view Key) const { return find(Key) != nullptr; }
  /// The decoded value, or Default if the key is absent.
  std::string option(std::string_view Key, std::string_view Default = "") const;
  /// One of Allowed, the first of which is the default.
  Expected<std::string> choice(std::string_view Key,
                               Span<const std::string_view> Allowed) const;
  /// `10s`, `250ms`, `5us`, or a plain number of seconds.
  Expected<std::chrono::nanoseconds>
  duration(std::string_view Key, std::chrono::nanoseconds Default) const;
  /// A byte count with an optional `k`, `M` or `G` (powers of 1024).
  Expected<size_t> byteSize(std::string_view Key, size_t Default) const;
  /// The value split at spaces, each word then percent-decoded: an argv.
  std::vector<std::string> words(std::string_view Key) const;

  /// Refuses keys that are not in Known.
  Status checkKeys(Span<const std::string_view> Known) const;
  /// An error that points at the scheme, the target or the value of Key.
  Status errorAtScheme(const std::string &Why) const;
  Status errorAtTarget(const std::string &Why) const;
  Status errorAt(std::string_view Key, const std::string &Why) const;

private:
  struct Option {
    std::string Key, Raw, Value;
    size_t KeyColumn, ValueColumn;
  };
  const Option *find(std::string_view Key) const;
  Status errorAtColumn(size_t Column, const std::string &Why) const;

  std::string Text, Scheme, Target;
  size_t TargetColumn = 0;
  std::vector<Option> Options;
};

} // namespace cbridge

#endif // CBRIDGE_RUNNERSTRING_H
