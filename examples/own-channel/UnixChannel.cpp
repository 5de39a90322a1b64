//===- UnixChannel.cpp - unix:PATH ----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "UnixChannel.h"

#include "channel/PeerProcess.h"
#include "channel/SocketListener.h"
#include "channel/StreamChannel.h"
#include "os/Socket.h"

#include <cerrno>

using namespace cbridge;

namespace {

/// Either end of a session.
class UnixChannel : public StreamChannel {
public:
  UnixChannel(std::string Name, os::File Connected, size_t MaxMessage)
      : StreamChannel(std::move(Name), MaxMessage),
        Socket(std::move(Connected)) {
    use({Socket.get(), Socket.get()});
  }

protected:
  os::Transfer readSome(int File, MutableBytes To) override {
    return os::receiveSome(File, To, NoFiles, /*MostFiles=*/0);
  }
  os::Transfer writeSome(int File, Span<const Bytes> Pieces) override {
    return os::sendSome(File, Pieces, {}); // which raises no SIGPIPE
  }
  void hangUp() { Socket.close(); }

private:
  os::File Socket;
  std::vector<os::File> NoFiles;
};

/// The compiler's end, which owns the peer that it has started.
class UnixConnection : public UnixChannel {
public:
  UnixConnection(std::unique_ptr<PeerProcess> Owned, os::File Connected,
                 size_t MaxMessage)
      : UnixChannel(Owned->name(), std::move(Connected), MaxMessage),
        Peer(std::move(Owned)) {}
  // The peer ends when it is hung up on, and is then waited for.
  ~UnixConnection() override { hangUp(); }
  void abandon(Deadline Until) override { Peer->abandon(Until); }

private:
  std::unique_ptr<PeerProcess> Peer;
};

/// The peer's end: a socket, and a lock beside it that tells a living peer from
/// a socket that a dead one has left.
class UnixListener : public SocketListener {
public:
  UnixListener(const std::string &Path, const ChannelOptions &Options)
      : SocketListener(Path, Options), Name("the compiler at unix:" + Path) {}

protected:
  std::unique_ptr<Channel> makeSession(os::File Connected,
                                       size_t MaxMessage) override {
    return std::make_unique<UnixChannel>(Name, std::move(Connected),
                                         MaxMessage);
  }

private:
  const std::string Name;
};

PeerProcess::Attempt tryConnect(const std::string &Path, os::File &To,
                                Status &Why) {
  int Errno = 0;
  Expected<os::File> Socket = os::connectUnix(Path, &Errno);
  if (Socket) {
    To = std::move(*Socket);
    return PeerProcess::Attempt::Connected;
  }
  Why = Socket.status();
  switch (Errno) {
  case ENOENT:
    Why = nobodyServes("unix:" + Path, "its socket is not there");
    return PeerProcess::Attempt::Absent;
  case ECONNREFUSED:
    Why = nobodyServes("unix:" + Path, "its peer is gone");
    return PeerProcess::Attempt::Absent;
  case EAGAIN: // too many wait
    return PeerProcess::Attempt::Taken;
  default:
    return PeerProcess::Attempt::Failed;
  }
}

} // namespace

Expected<std::unique_ptr<Channel>>
connectSocket(const RunnerString &Address, const ChannelOptions &Options) {
  Expected<PeerProcess> Started = PeerProcess::start(Address);
  if (!Started)
    return Started.status();
  auto Peer = std::make_unique<PeerProcess>(std::move(*Started));
  os::File Socket;
  Status S = Peer->connect(Address, Options, [&](Status &Why) {
    return tryConnect(Peer->target(), Socket, Why);
  });
  if (!S.ok()) {
    Peer->abandon(Deadline::in(std::chrono::seconds(0)));
    return S;
  }
  return std::make_unique<UnixConnection>(std::move(Peer), std::move(Socket),
                                          Options.MaxMessage);
}

Expected<std::unique_ptr<Listener>>
listenSocket(const RunnerString &Address, const ChannelOptions &Options) {
  if (Address.target().empty())
    return Address.errorAtTarget("expected the path of a socket");
  auto L = std::make_unique<UnixListener>(Address.target(), Options);
  if (Status S = L->open("unix:" + Address.target()); !S)
    return S;
  return L;
}
