//===- UnixChannel.cpp - unix:PATH ----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "UnixChannel.h"

#include "channel/PeerLock.h"
#include "channel/PeerProcess.h"
#include "channel/StreamChannel.h"
#include "os/Socket.h"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

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
class UnixListener : public Listener {
public:
  UnixListener(const std::string &Path, const ChannelOptions &Options)
      : Path(Path), Options(Options), Owner(::getpid()) {}
  ~UnixListener() override;
  Status open();
  Expected<std::unique_ptr<Channel>> accept(Deadline Until) override;
  bool ready() override { return false; }
  bool beginWait(os::FileSet &Files) override;

private:
  std::string lockPath() const { return Path + ".lock"; }

  std::string Path;
  ChannelOptions Options;
  pid_t Owner;
  os::File Lock, Socket;
  /// Connected, but have not said anything: not sessions yet.
  static constexpr size_t MostSilent = 256;
  std::vector<os::File> Silent;
  os::Backoff OutOfFiles;
};

UnixListener::~UnixListener() {
  // A forked copy leaves everything alone, and so does one whose place somebody
  // else has taken.
  if (!Lock || Owner != ::getpid())
    return;
  if (isNamed(Lock, lockPath())) {
    if (Socket)
      ::unlink(Path.c_str());
    ::unlink(lockPath().c_str());
  }
  if (Options.Lifeline >= 0)
    removeOwnDirectory(Path);
}

Status UnixListener::open() {
  Expected<os::File> Taken = takePeerLock(lockPath(), "unix:" + Path);
  if (!Taken)
    return Taken.status();
  Lock = std::move(*Taken);
  struct stat Info;
  if (::lstat(Path.c_str(), &Info) == 0) {
    if (!S_ISSOCK(Info.st_mode))
      return Status::error(StatusCode::Io,
                           Path + " is in the way and is not a socket");
    ::unlink(Path.c_str()); // left by a peer that died
  }
  Expected<os::File> Made = os::listenUnix(Path);
  if (!Made)
    return Made.status();
  Socket = std::move(*Made);
  return Status();
}

bool UnixListener::beginWait(os::FileSet &Files) {
  Files.add(Socket.get());
  for (const os::File &Each : Silent)
    Files.add(Each.get());
  return true;
}

/// A session begins with the first byte of a connection.
Expected<std::unique_ptr<Channel>> UnixListener::accept(Deadline Until) {
  os::FileSet Files;
  for (size_t Rounds = 0;; ++Rounds) {
    Files.clear();
    beginWait(Files);
    size_t Cancel = Files.size();
    if (Options.Lifeline >= 0)
      Files.add(Options.Lifeline);
    // Others may connect faster than we look.
    if (!Files.wait(Until) || (Until.passed() && Rounds > MostSilent))
      return Status::error(StatusCode::Timeout, "no compiler at " + Path);
    if (Files.woken(Cancel, Files.size()))
      return Status::error(StatusCode::PeerClosed,
                           "the compiler that started this peer is gone");
    for (size_t I = 0; I < Silent.size(); ++I) {
      if (!Files.woken(I + 1, I + 2))
        continue;
      os::File Speaks = std::move(Silent[I]);
      Silent.erase(Silent.begin() + ptrdiff_t(I));
      if (os::bytesAvailable(Speaks.get()) == 0)
        break; // it left without a word
      return std::make_unique<UnixChannel>("the compiler at unix:" + Path,
                                           std::move(Speaks),
                                           Options.MaxMessage);
    }
    if (Files.woken(0, 1)) {
      if (Expected<os::File> Came = os::acceptUnix(Socket))
        Silent.push_back(std::move(*Came));
      else
        OutOfFiles.pause(Deadline::never());
    }
    if (Silent.size() > MostSilent)
      Silent.erase(Silent.begin());
  }
}

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
  if (Status S = L->open(); !S)
    return S;
  return L;
}
