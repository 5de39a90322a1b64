//===- PipeConnection.cpp - The compiler's end of a pipe ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerLock.h"
#include "channel/PeerProcess.h"
#include "channel/StreamChannel.h"
#include "channel/pipe/Pipe.h"
#include "channel/pipe/PipeFiles.h"
#include "os/Fifo.h"
#include "os/Lock.h"

#include <cerrno>

#include <fcntl.h>

namespace cbridge {

namespace {

using namespace pipe;

/// What there is of a session. Destroyed from the bottom up: the FIFOs close
/// before the peer is ended and its directory removed.
struct Session {
  PeerProcess Peer;
  os::File Lock, Read, Write;
};

class PipeConnection : public StreamChannel {
public:
  PipeConnection(size_t MaxMessage, Session Made)
      : StreamChannel(Made.Peer.name(), MaxMessage), S(std::move(Made)) {
    // Requests cannot break (see tryConnect): that replies hang up is the sign
    // that nobody reads them.
    use({S.Read.get(), S.Write.get(), -1, S.Read.get()});
  }
  void abandon(Deadline Until) override { S.Peer.abandon(Until); }

private:
  Session S;
};

using Attempt = PeerProcess::Attempt;

/// Tries once to get the session; Why says what is in the way.
Attempt tryConnect(Session &S, Status &Why) {
  const std::string &Base = S.Peer.target();
  auto Absent = [&](const char *Reason) {
    Why = nobodyServes("pipe:" + Base, Reason);
    return Attempt::Absent;
  };
  auto Failed = [&](Status Reason) {
    Why = std::move(Reason);
    return Attempt::Failed;
  };
  int Errno = 0;
  Expected<os::File> Lock =
      os::openFile(lockFile(Base), O_RDWR | O_NOFOLLOW, 0, &Errno);
  if (!Lock)
    return Errno == ENOENT ? Absent("its files are not there")
                           : Failed(Lock.status());
  if (!os::isLocked(*Lock, PeerByte))
    return Absent("its peer is gone");
  bool Ours = os::tryLock(*Lock, SessionByte);
  if (!Ours || readState(*Lock) != Ready) {
    // A compiler that marked the state busy and died just as the peer cleaned
    // up behind an earlier one has not been noticed. Coming and going makes the
    // peer look again.
    if (Ours)
      (void)os::openFifo(toPeer(Base), O_WRONLY);
    Why = Status::error(StatusCode::Unavailable,
                        "pipe:" + Base + " is busy with another compiler");
    return Attempt::Taken;
  }
  // Open for reading as well, so that a write to a dead peer raises no SIGPIPE:
  // blocking that signal would cost two system calls per decision.
  Expected<os::File> Write = os::openFifo(toPeer(Base), O_RDWR, &Errno);
  if (!Write)
    return Errno == ENOENT ? Absent("its peer is gone")
                           : Failed(Write.status());
  Expected<os::File> Read = os::openFifo(toCompiler(Base), O_RDONLY);
  if (!Read)
    return Failed(Read.status());
  // A peer that has come since makes FIFOs and lock file anew: we must not have
  // the lock of one and the FIFOs of the other.
  if (!isNamed(*Lock, lockFile(Base)) || !os::isLocked(*Lock, PeerByte))
    return Absent("its peer is gone");
  // From the first byte on, the FIFOs may hold what a dead compiler left.
  if (Status Marked = writeState(*Lock, Busy); !Marked)
    return Failed(std::move(Marked));
  S.Lock = std::move(*Lock);
  S.Write = std::move(*Write);
  S.Read = std::move(*Read);
  return Attempt::Connected;
}

} // namespace

Expected<std::unique_ptr<Channel>> connectPipe(const RunnerString &Address,
                                               const ChannelOptions &Options) {
  if (Address.target().empty() && !Address.has("spawn"))
    return Address.errorAtTarget("expected the path in front of .in and .out");
  Expected<PeerProcess> Peer = PeerProcess::start(Address);
  if (!Peer)
    return Peer.status();
  Session S{std::move(*Peer), {}, {}, {}};
  if (Status Why = S.Peer.connect(Address, Options,
                                  [&](Status &W) { return tryConnect(S, W); });
      !Why) {
    S.Peer.abandon(Deadline::in(std::chrono::seconds(0)));
    return Why;
  }
  return std::make_unique<PipeConnection>(Options.MaxMessage, std::move(S));
}

} // namespace cbridge
