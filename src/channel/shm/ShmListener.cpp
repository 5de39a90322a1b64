//===- ShmListener.cpp - The peer's end of shared memory ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerLock.h"
#include "channel/PeerProcess.h"
#include "channel/shm/Shm.h"
#include "channel/shm/ShmChannel.h"
#include "os/Socket.h"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace cbridge {

namespace {

class ShmListener : public Listener {
public:
  ShmListener(const std::string &Name, std::string Path,
              const ChannelOptions &Options)
      : Name("the compiler at shm:" + Name), Path(std::move(Path)),
        MaxMessage(Options.MaxMessage), Lifeline(Options.Lifeline),
        Owner(::getpid()) {}
  ~ShmListener() override;

  Status open(const std::string &Address);
  Expected<std::unique_ptr<Channel>> accept(Deadline Until) override;
  bool ready() override { return false; }
  bool beginWait(os::FileSet &Files) override;

private:
  std::string Name, Path;
  size_t MaxMessage;
  int Lifeline;
  pid_t Owner;
  os::File Lock, Socket;
  bool Bound = false;
  /// Connected, but have not said anything.
  static constexpr size_t MostSilent = 256;
  std::vector<os::File> Silent;
  os::Backoff OutOfFiles;

  Status nobodyCame() const {
    return Status::error(StatusCode::Timeout, "no compiler at " + Path);
  }
  /// Somebody waits, but there are no files to be had. Others have some, and
  /// must not wait for it; nor may we ask without end.
  Status noneNow() {
    OutOfFiles.pause(Deadline::in(std::chrono::milliseconds(1)));
    // One that has not said anything may never do so.
    if (!Silent.empty())
      Silent.erase(Silent.begin());
    return nobodyCame();
  }
};

ShmListener::~ShmListener() {
  if (!Lock || Owner != ::getpid())
    return;
  // Only what is ours: the folder may have been emptied, and another peer be
  // there now.
  if (isNamed(Lock, Path + ".lock")) {
    if (Bound)
      ::unlink(Path.c_str());
    ::unlink((Path + ".lock").c_str());
  }
  // A directory of the compiler's own, which may have died, goes as well.
  if (Lifeline >= 0)
    removeOwnDirectory(Path);
}

Status ShmListener::open(const std::string &Address) {
  Expected<os::File> Taken = takePeerLock(Path + ".lock", Address);
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
  Bound = true;
  return Status();
}

bool ShmListener::beginWait(os::FileSet &Files) {
  Files.add(Socket.get());
  for (const os::File &Each : Silent)
    Files.add(Each.get());
  return true;
}

/// A session begins with the first byte of a connection.
Expected<std::unique_ptr<Channel>> ShmListener::accept(Deadline Until) {
  os::FileSet Files;
  for (size_t Late = 0;;) {
    Files.clear();
    beginWait(Files);
    size_t Cancel = Files.size();
    if (Lifeline >= 0)
      Files.add(Lifeline);
    if (!Files.wait(Until))
      return nobodyCame();
    if (Files.woken(Cancel, Files.size()))
      return Status::error(StatusCode::PeerClosed,
                           "the compiler that started this peer is gone");
    for (size_t I = 0; I < Silent.size(); ++I)
      if (Files.woken(I + 1, I + 2)) {
        os::File Speaks = std::move(Silent[I]);
        Silent.erase(Silent.begin() + ptrdiff_t(I));
        if (os::bytesAvailable(Speaks.get()) == 0)
          break; // it left without a word
        return std::make_unique<shm::ShmChannel>(Name, std::move(Speaks),
                                                 MaxMessage);
      }
    if (Files.woken(0, 1)) {
      int Errno = 0;
      if (Expected<os::File> Came = os::acceptUnix(Socket, &Errno))
        Silent.push_back(std::move(*Came));
      else if (Errno && Errno != EAGAIN)
        return noneNow();
    }
    if (Silent.size() > MostSilent)
      Silent.erase(Silent.begin());
    if (Until.passed() && ++Late > MostSilent) // they come faster than we look
      return nobodyCame();
  }
}

} // namespace

Expected<std::unique_ptr<Listener>> listenShm(const RunnerString &Address,
                                              const ChannelOptions &Options) {
  if (Address.target().empty())
    return Address.errorAtTarget("expected the name of a socket");
  Expected<std::string> Path = shm::socketPath(Address.target());
  if (!Path)
    return Path.status();
  auto L = std::make_unique<ShmListener>(Address.target(), *Path, Options);
  if (Status S = L->open("shm:" + Address.target()); !S)
    return S;
  return L;
}

} // namespace cbridge
