//===- PipeConnection.cpp - The compiler's end of a pipe ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/StreamChannel.h"
#include "channel/pipe/Pipe.h"
#include "channel/pipe/PipeFiles.h"
#include "os/Lock.h"
#include "os/Process.h"

#include <cerrno>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace cbridge {

namespace {

using namespace pipe;

/// A directory of ours, removed with the files that a peer may have left.
class OwnDirectory {
public:
  explicit OwnDirectory(std::string Path) : Path(std::move(Path)) {}
  OwnDirectory(OwnDirectory &&Other) noexcept
      : Path(std::exchange(Other.Path, std::string())), Owner(Other.Owner) {}
  OwnDirectory &operator=(OwnDirectory &&) = delete;
  ~OwnDirectory() {
    if (Path.empty() || Owner != ::getpid())
      return;
    for (const std::string &File :
         {toPeer(base()), toCompiler(base()), lockFile(base())})
      ::unlink(File.c_str());
    ::rmdir(Path.c_str());
  }
  std::string base() const { return Path + std::string(OwnBase); }

private:
  std::string Path;
  pid_t Owner = ::getpid();
};

/// What there is of a session. Destroyed from the bottom up: the FIFOs close
/// before the peer is ended and its directory removed.
struct Session {
  std::optional<OwnDirectory> Directory;
  std::optional<os::Process> Peer;
  os::File Lock, Read, Write;
};

class PipeConnection : public StreamChannel {
public:
  PipeConnection(std::string Name, size_t MaxMessage, Session Made)
      : StreamChannel(std::move(Name), MaxMessage), S(std::move(Made)) {
    // Requests cannot break (see tryConnect): that replies hang up is the sign
    // that nobody reads them.
    use({S.Read.get(), S.Write.get(), -1, S.Read.get()});
  }

  /// A peer of ours has time to save what it learnt, unless it is broken.
  ~PipeConnection() override {
    S.Write.close();
    S.Read.close();
    if (S.Peer)
      S.Peer->end(Grace ? Grace->remaining() : std::chrono::seconds(2));
  }
  void abandon(Deadline Until) override { Grace = Until; }

private:
  Session S;
  std::optional<Deadline> Grace;
};

enum class Attempt { Connected, Absent, Taken, Failed };

/// Tries once to get the session; Why says what is in the way.
Attempt tryConnect(const std::string &Base, Session &S, Status &Why) {
  auto Absent = [&](const char *Reason) {
    Why = Status::error(StatusCode::Unavailable,
                        "nobody serves pipe:" + Base + " (" + Reason +
                            "); connect=5s would wait for it");
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
      (void)openFifo(toPeer(Base), O_WRONLY);
    Why = Status::error(StatusCode::Unavailable,
                        "pipe:" + Base + " is busy with another compiler");
    return Attempt::Taken;
  }
  // Open for reading as well, so that a write to a dead peer raises no SIGPIPE:
  // blocking that signal would cost two system calls per decision.
  Expected<os::File> Write = openFifo(toPeer(Base), O_RDWR, &Errno);
  if (!Write)
    return Errno == ENOENT ? Absent("its peer is gone")
                           : Failed(Write.status());
  Expected<os::File> Read = openFifo(toCompiler(Base), O_RDONLY);
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

Expected<os::Process> startPeer(std::vector<std::string> Arguments,
                                const std::string &Base) {
  std::string Address = "pipe:" + RunnerString::escape(Base);
  for (std::string &A : Arguments)
    if (size_t At = A.find("{}"); At != A.npos)
      A.replace(At, 2, Address);
  return os::Process::spawn(Arguments, {"CBRIDGE_PEER=" + Address});
}

} // namespace

Expected<std::unique_ptr<Channel>> connectPipe(const RunnerString &Address,
                                               const ChannelOptions &Options) {
  std::string Base = Address.target();
  std::vector<std::string> Spawn = Address.words("spawn");
  Expected<std::chrono::nanoseconds> Wait =
      Address.duration("connect", Options.Until.remaining());
  if (!Wait)
    return Wait.status();
  if (Address.has("spawn") && Spawn.empty())
    return Address.errorAt("spawn", "expected the program to start");
  if (Base.empty() && Spawn.empty())
    return Address.errorAtTarget("expected the path in front of .in and .out");

  Session S;
  if (Base.empty()) {
    Expected<std::string> Path = os::makePrivateDirectory();
    if (!Path)
      return Path.status();
    S.Directory.emplace(std::move(*Path));
    Base = S.Directory->base();
  }
  if (!Spawn.empty()) {
    Expected<os::Process> Peer = startPeer(Spawn, Base);
    if (!Peer)
      return Peer.status();
    S.Peer.emplace(std::move(*Peer));
  }
  std::string Name = "pipe:" + Base;
  if (!Spawn.empty()) {
    Name = "the peer '";
    for (const std::string &Word : Spawn)
      Name += (&Word == &Spawn[0] ? "" : " ") + Word;
    Name += "'";
  }
  Deadline Until = Deadline::in(*Wait);
  os::Backoff Pause;
  for (;;) {
    Status Why;
    switch (tryConnect(Base, S, Why)) {
    case Attempt::Connected:
      return std::make_unique<PipeConnection>(Name, Options.MaxMessage,
                                              std::move(S));
    case Attempt::Failed:
      return Why;
    case Attempt::Absent:
      if (!S.Peer && !Address.has("connect"))
        return Why;
      break;
    case Attempt::Taken:
      break;
    }
    if (S.Peer)
      if (auto How = S.Peer->exited())
        return Status::error(StatusCode::Unavailable,
                             Name + " ended before it served: " + *How);
    if (Pause.pause(Until))
      continue;
    auto Waited = std::chrono::duration_cast<std::chrono::milliseconds>(*Wait);
    return Status::error(StatusCode::Timeout,
                         (S.Peer ? Name + " does not serve" : Why.message()) +
                             "; waited " + std::to_string(Waited.count()) +
                             " ms");
  }
}

} // namespace cbridge
