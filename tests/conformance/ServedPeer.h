//===- ServedPeer.h - A peer that runs beside the test ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_SERVEDPEER_H
#define CBRIDGE_TESTS_CONFORMANCE_SERVEDPEER_H

#include "ChannelFixture.h"

#include <memory>

namespace cbridge::conformance {

/// A Peer that answers by a policy until this object goes away, or until it has
/// served Options.Sessions. In a thread (ThreadedPeer.cpp) or in a process of
/// its own (ForkedPeer.cpp): each test executable links one of the two.
class ServedPeer {
public:
  ServedPeer(const std::string &Address, Policy Answer,
             PeerOptions Options = PeerOptions());
  ~ServedPeer();
  /// Waits until it has served its sessions.
  void finish();
  /// Its process; the test's own if it is a thread.
  pid_t process() const;

private:
  struct Host;
  std::unique_ptr<Host> H;
};

/// A peer that answers y = x + 1, whatever this process has done before: where
/// a forked one would not work, a program of its own.
class FreshPeer {
public:
  FreshPeer(const ChannelUnderTest &Channel, const std::string &Address);
  ~FreshPeer();

private:
  struct Host;
  std::unique_ptr<Host> H;
};

/// Serves until Stop() or until the last session; whether that was clean.
bool serve(Peer &P, const Policy &Answer, const std::function<bool()> &Stop);

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_SERVEDPEER_H
