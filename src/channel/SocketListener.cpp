//===- SocketListener.cpp - Compilers that come by a Unix socket ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/SocketListener.h"

#include "channel/PeerProcess.h"
#include "os/Socket.h"

#include <cerrno>

#include <unistd.h>

namespace cbridge {

SocketListener::SocketListener(std::string Path, const ChannelOptions &Options)
    : Path(std::move(Path)), Options(Options), Owner(::getpid()) {}

SocketListener::~SocketListener() {
  // A forked copy leaves everything alone.
  if (!Place.isTaken() || Owner != ::getpid())
    return;
  if (Place.isOurs())
    Place.remove();
  // A directory of the compiler's own, which may have died, goes as well.
  if (Options.Lifeline >= 0)
    removeOwnDirectory(Path);
}

Status SocketListener::open(const std::string &Address) {
  if (Status S = Place.take(Path, Address); !S)
    return S;
  Expected<os::File> Made = os::listenUnix(Path);
  if (!Made)
    return Made.status();
  Socket = std::move(*Made);
  return Status();
}

bool SocketListener::beginWait(os::FileSet &Files) {
  Files.add(Socket.get());
  for (const os::File &Each : Silent)
    Files.add(Each.get());
  return true;
}

Status SocketListener::nobodyCame() const {
  return Status::error(StatusCode::Timeout, "no compiler at " + Path);
}

/// Somebody waits, but there are no files to be had. Others have some, and must
/// not wait for it; nor may we ask without end.
Status SocketListener::noneNow() {
  OutOfFiles.pause(Deadline::in(std::chrono::milliseconds(1)));
  // One that has not said anything may never do so.
  if (!Silent.empty())
    Silent.erase(Silent.begin());
  return nobodyCame();
}

/// The first of the silent ones that has said something, if one has.
os::File SocketListener::takeSpeaking(const os::FileSet &Files) {
  for (size_t I = 0; I < Silent.size(); ++I) {
    if (!Files.woken(I + 1, I + 2))
      continue;
    os::File Speaks = std::move(Silent[I]);
    Silent.erase(Silent.begin() + ptrdiff_t(I));
    if (os::bytesAvailable(Speaks.get()) == 0)
      break; // it left without a word
    return Speaks;
  }
  return os::File();
}

Expected<std::unique_ptr<Channel>> SocketListener::accept(Deadline Until) {
  os::FileSet Files;
  for (size_t Late = 0;;) {
    Files.clear();
    beginWait(Files);
    size_t Cancel = Files.size();
    if (Options.Lifeline >= 0)
      Files.add(Options.Lifeline);
    if (!Files.wait(Until))
      return nobodyCame();
    if (Files.woken(Cancel, Files.size()))
      return Status::error(StatusCode::PeerClosed,
                           "the compiler that started this peer is gone");
    if (os::File Speaks = takeSpeaking(Files))
      return makeSession(std::move(Speaks), Options.MaxMessage);
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

} // namespace cbridge
