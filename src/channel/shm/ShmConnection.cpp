//===- ShmConnection.cpp - The compiler's end of shared memory ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerProcess.h"
#include "channel/shm/Shm.h"
#include "channel/shm/ShmChannel.h"
#include "os/Socket.h"

#include <cerrno>
#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

namespace cbridge {

namespace shm {

/// Not below TMPDIR: build systems give compilers one of their own.
Expected<std::string> socketPath(const std::string &Name) {
  if (Name.find('/') != Name.npos)
    return Name;
  const char *Chosen = ::getenv("CBRIDGE_RUNTIME_DIR");
  std::string Directory = Chosen && *Chosen
                              ? Chosen
                              : "/tmp/cbridge-" + std::to_string(::geteuid());
  struct stat Info;
  if (::mkdir(Directory.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return os::lastError(Directory);
  // Somebody else may have been there first.
  if (::lstat(Directory.c_str(), &Info) != 0 || !S_ISDIR(Info.st_mode) ||
      Info.st_uid != ::geteuid() || (Info.st_mode & (S_IRWXG | S_IRWXO)))
    return Status::error(StatusCode::Io,
                         Directory + " is not a private directory of this "
                                     "user; CBRIDGE_RUNTIME_DIR can name one");
  return Directory + "/" + Name;
}

} // namespace shm

namespace {

using Attempt = PeerProcess::Attempt;

/// Owns the peer, which is ended after the connection has been closed.
class ShmConnection : public shm::ShmChannel {
public:
  ShmConnection(std::shared_ptr<PeerProcess> Peer, os::File Socket,
                size_t MaxMessage)
      : ShmChannel(Peer->name(), std::move(Socket), MaxMessage),
        Peer(std::move(Peer)) {}
  ~ShmConnection() override { hangUp(); }
  void abandon(Deadline Until) override { Peer->abandon(Until); }

private:
  std::shared_ptr<PeerProcess> Peer;
};

Attempt tryConnect(const std::string &Name, const std::string &Path,
                   os::File &To, Status &Why) {
  int Errno = 0;
  Expected<os::File> Socket = os::connectUnix(Path, &Errno);
  if (Socket) {
    To = std::move(*Socket);
    return Attempt::Connected;
  }
  switch (Errno) {
  case ENOENT:
  case ECONNREFUSED:
    Why =
        nobodyServes("shm:" + Name, Errno == ENOENT ? "its socket is not there"
                                                    : "its peer is gone");
    return Attempt::Absent;
  case EAGAIN:
    Why = Status::error(StatusCode::Unavailable,
                        "shm:" + Name + " is busy: too many compilers wait");
    return Attempt::Taken;
  default:
    Why = Socket.status();
    return Attempt::Failed;
  }
}

} // namespace

Expected<std::unique_ptr<Channel>> connectShm(const RunnerString &Address,
                                              const ChannelOptions &Options) {
  if (Address.target().empty() && !Address.has("spawn"))
    return Address.errorAtTarget("expected the name of a socket");
  Expected<PeerProcess> Started = PeerProcess::start(Address);
  if (!Started)
    return Started.status();
  auto Peer = std::make_shared<PeerProcess>(std::move(*Started));
  Expected<std::string> Path = shm::socketPath(Peer->target());
  os::File Socket;
  Status Why = Path.status();
  if (Path)
    Why = Peer->connect(Address, Options, [&](Status &W) {
      return tryConnect(Peer->target(), *Path, Socket, W);
    });
  if (!Why.ok()) {
    Peer->abandon(Deadline::in(std::chrono::seconds(0)));
    return Why;
  }
  return std::make_unique<ShmConnection>(std::move(Peer), std::move(Socket),
                                         Options.MaxMessage);
}

} // namespace cbridge
