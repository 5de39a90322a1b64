//===- Status.h - The outcome of an operation -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_STATUS_H
#define CBRIDGE_STATUS_H

#include <cstdint>
#include <string>

namespace cbridge {

/// Why something failed. Append-only: the numbers are shared with C and never
/// change.
enum class StatusCode : int32_t {
  Ok = 0,
  InvalidArgument = 1, ///< The caller's mistake: a string, a name, an index.
  TypeMismatch = 2,    ///< Element types differ.
  ShapeMismatch = 3,   ///< Ranks, extents or element counts differ.
  Abstained = 4,       ///< There is no model, on purpose.
  IllegalDecision = 5, ///< Outside the mask or range, or not a number.
  PeerError = 6,       ///< The peer answered "I failed", and said why.
  Unavailable = 7,     ///< Nobody is there to answer.
  Timeout = 8,         ///< The deadline passed.
  PeerClosed = 9,      ///< The other side went away.
  Protocol = 10,       ///< The other side sent what it must not.
  Io = 11,             ///< The operating system refused.
  OutOfMemory = 12,    ///< A size was above its cap, or memory ran out.
  Forked = 13,         ///< Opened by the parent of this process.
  Unsupported = 14,    ///< Known, but not in this build or not possible.
  ModelError = 15,     ///< The model itself failed, in this process.
};

/// The code's name in lower case: "timeout", "peer_closed".
const char *toString(StatusCode Code);

/// Success, or a code and a message that names the culprit.
///
/// One pointer wide; success is null and costs nothing. Copies share the
/// message, so handing out a stored failure allocates nothing. Thread-safe in
/// the way shared_ptr is.
class [[nodiscard]] Status {
public:
  Status() noexcept = default;
  static Status error(StatusCode Code, std::string Message);

  Status(const Status &Other) noexcept : Rep(Other.Rep) { retain(); }
  Status(Status &&Other) noexcept : Rep(Other.Rep) { Other.Rep = nullptr; }
  Status &operator=(Status Other) noexcept {
    Failure *Mine = Rep;
    Rep = Other.Rep;
    Other.Rep = Mine;
    return *this;
  }
  ~Status() {
    if (Rep)
      release();
  }

  bool ok() const noexcept { return !Rep; }
  explicit operator bool() const noexcept { return ok(); }
  StatusCode code() const noexcept;
  /// Empty on success. Lives as long as any copy of this status.
  const std::string &message() const noexcept;
  /// "timeout: no answer from pipe:/tmp/x within 200 ms".
  std::string toString() const;
  /// The same failure with `Prefix: ` in front of its message.
  Status withContext(const std::string &Prefix) const;

  /// True for failures after which the connection to a model cannot be used:
  /// the transport broke, or the two sides no longer agree on where they are.
  bool isTransport() const noexcept;

private:
  struct Failure;
  void retain() noexcept;
  void release() noexcept;
  Failure *Rep = nullptr;
};

} // namespace cbridge

#endif // CBRIDGE_STATUS_H
