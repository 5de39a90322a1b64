//===- Soak.h - Many sessions in bad weather --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_SOAK_SOAK_H
#define CBRIDGE_TESTS_SOAK_SOAK_H

#include <cbridge/Deadline.h>
#include <cbridge/Signature.h>

#include <atomic>
#include <csignal>
#include <random>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cbridge::soak {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CBRIDGE_SOAK_SANITIZED 1
#endif
#endif
#ifdef CBRIDGE_SOAK_SANITIZED
constexpr bool Sanitized = true;
#else
constexpr bool Sanitized = false;
#endif

constexpr size_t Peers = 3, Compilers = 6;
constexpr const char *Channels[] = {
    "pipe",
    "shm",
#ifdef CBRIDGE_HAS_GRPC
    "grpc",
#endif
};

struct Plan {
  std::string Channel; // one of Channels
  size_t Sessions = 0;
  std::chrono::seconds Longest{0}; // 0: no limit
  uint64_t Seed = 0;
};

/// What all processes see. Whoever is killed leaves it as it is: each word is
/// right on its own.
struct Board {
  struct PeerState {
    /// Even while it serves. Made odd before it is killed, so that a session
    /// that broke knows whether it may have.
    std::atomic<uint64_t> Generation{1};
  };
  struct CompilerState {
    /// When its session began, in nanoseconds; 0 between sessions.
    std::atomic<int64_t> Since{0};
  };
  PeerState Peer[Peers];
  CompilerState Compiler[Compilers];
  std::atomic<uint64_t> Sessions{0}, Decisions{0}, Failures{0}, Broken{0},
      HangUps{0};
  std::atomic<bool> Stop{false};
  /// The first few, for people.
  std::atomic<uint64_t> Violations{0};
  static constexpr size_t Shown = 8;
  char Text[Shown][400];

  void violation(const std::string &What);
};

/// A feature that says how to answer, and one of any size. The decision is a
/// number that depends on both, and the second feature backwards.
Signature signature();
enum Wish : int64_t { Answer, Fail, Wait, Die };
int64_t rightAnswer(int64_t Wish, Span<const int64_t> Data);

/// The body of a peer's process: serves until Stop.
int runPeer(Board &B, size_t Index, const std::string &Address);
/// The body of a compiler's process: session after session until Stop.
int runCompiler(Board &B, size_t Index, const Plan &P,
                const std::vector<std::string> &Addresses, uint64_t Seed);

/// Runs a plan and prints what came of it; whether all was well. Ends early
/// when Interrupted.
bool conduct(const Plan &P, const volatile std::sig_atomic_t &Interrupted);

/// What a process has, by /proc.
struct Belongings {
  size_t Files = 0;     // descriptors
  size_t Memories = 0;  // mapped segments
  size_t HeapBytes = 0; // private memory
};
Belongings belongingsOf(pid_t Process);
int64_t nanoseconds();

} // namespace cbridge::soak

#endif // CBRIDGE_TESTS_SOAK_SOAK_H
