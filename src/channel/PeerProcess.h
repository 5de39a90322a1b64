//===- PeerProcess.h - How a compiler gets to its peer ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_PEERPROCESS_H
#define CBRIDGE_CHANNEL_PEERPROCESS_H

#include "channel/Channel.h"
#include "os/Process.h"

#include <functional>
#include <optional>

namespace cbridge {

/// The peer that a runner starts and owns (`spawn=`), or nothing. Its address
/// is in a directory of its own if the runner string names none.
class PeerProcess {
public:
  /// Starts the program of `spawn=`, if there is one.
  static Expected<PeerProcess> start(const RunnerString &Address);
  PeerProcess(PeerProcess &&Other) noexcept;
  PeerProcess &operator=(PeerProcess &&) = delete;
  /// The peer has time to save what it learnt, unless it was abandoned.
  ~PeerProcess() { end(); }

  /// What the channel connects to.
  const std::string &target() const { return Target; }
  /// For messages: "pipe:/tmp/x", "the peer 'python3 peer.py'".
  const std::string &name() const { return Name; }
  bool isOurs() const { return Started.has_value(); }
  void abandon(Deadline Until) { Grace = Until; }
  /// Ends the peer and removes its directory.
  void end();

  /// What one try to connect came to; all but Connected say why.
  enum class Attempt { Connected, Absent, Taken, Failed };
  using Try = std::function<Attempt(Status &Why)>;
  /// Tries until it works or there is no point in waiting: a peer that is not
  /// there is one at once, unless it has been started or `connect=` says how
  /// long to wait for it.
  Status connect(const RunnerString &Address, const ChannelOptions &Options,
                 const Try &Once);

private:
  PeerProcess() = default;

  std::string Target, Name, Directory;
  std::optional<os::Process> Started;
  std::optional<Deadline> Grace;
  pid_t Owner = -1;
};

/// The status of an Attempt that was Absent.
Status nobodyServes(const std::string &Address, const char *Why);

/// For a peer that serves Target: removes the directory if a runner made it for
/// this peer; the runner itself may be gone.
void removeOwnDirectory(const std::string &Target);

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_PEERPROCESS_H
