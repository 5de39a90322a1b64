//===- PipeListener.cpp - The peer's end of a pipe ------------------------===//
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

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace cbridge {

namespace {

using namespace pipe;

class PipeListener : public Listener {
public:
  PipeListener(std::string Base, size_t MaxMessage, int Lifeline)
      : Base(std::move(Base)), MaxMessage(MaxMessage), Lifeline(Lifeline),
        Owner(::getpid()) {}
  ~PipeListener() override;

  Status open();
  Expected<std::unique_ptr<Channel>> accept(Deadline Until) override;
  bool ready() override { return false; }
  bool beginWait(os::FileSet &Files) override {
    Files.add(Requests.get());
    return true;
  }

private:
  class Session;
  Status makeFifo(const std::string &Path);
  Status reopen();
  Expected<bool> recycle();

  std::string Base;
  size_t MaxMessage;
  int Lifeline;
  pid_t Owner;
  os::File Lock, Requests, Replies;
  std::vector<std::string> MadeFifos;
  bool InSession = false;
};

/// Borrows the listener's files, which outlive any one compiler.
class PipeListener::Session : public StreamChannel {
public:
  explicit Session(PipeListener &L)
      : StreamChannel("the compiler at pipe:" + L.Base, L.MaxMessage) {
    // The FIFO for replies is open at both ends here and never breaks: that
    // requests hang up is the sign that nobody fetches the reply.
    use({L.Requests.get(), L.Replies.get(), L.Lifeline, L.Requests.get()});
  }
};

PipeListener::~PipeListener() {
  if (!Lock || Owner != ::getpid())
    return;
  // Only what is ours: the folder may have been emptied, and another peer be
  // there now.
  if (isNamed(Lock, lockFile(Base))) {
    for (const std::string &Path : MadeFifos)
      ::unlink(Path.c_str());
    ::unlink(lockFile(Base).c_str());
  }
  // A directory of the compiler's own, which may have died, goes as well.
  if (Lifeline >= 0)
    removeOwnDirectory(Base);
}

Status PipeListener::makeFifo(const std::string &Path) {
  if (Status S = os::makeFifo(Path); !S)
    return S;
  MadeFifos.push_back(Path);
  return Status();
}

Status PipeListener::open() {
  Expected<os::File> Taken = takePeerLock(lockFile(Base), "pipe:" + Base);
  if (!Taken)
    return Taken.status();
  Lock = std::move(*Taken);
  // An earlier peer may have left the state ready, but its FIFOs go now.
  if (Status S = writeState(Lock, Busy); !S)
    return S;
  if (Status S = makeFifo(toPeer(Base)); !S)
    return S;
  if (Status S = makeFifo(toCompiler(Base)); !S)
    return S;
  // Open for reading as well: otherwise it could not be opened before a
  // compiler reads, nor be emptied of answers that nobody fetched.
  Expected<os::File> F = os::openFifo(toCompiler(Base), O_RDWR);
  if (!F)
    return F.status();
  Replies = std::move(*F);
  if (Status S = reopen(); !S)
    return S;
  return writeState(Lock, Ready);
}

/// A FIFO whose writers have all left reports so until it is opened anew. The
/// new end is open before the old one closes: compilers never find nobody.
Status PipeListener::reopen() {
  Expected<os::File> F = os::openFifo(toPeer(Base), O_RDONLY);
  if (!F)
    return F.status();
  Requests = std::move(*F);
  return Status();
}

/// Makes the FIFOs clean for the next compiler, if the latest one is gone and
/// all it wrote has been read.
Expected<bool> PipeListener::recycle() {
  // Read before the check that nobody writes: whoever marked the state busy
  // and is gone can no longer be in the way, and nobody else enters until then.
  char State = readState(Lock);
  if (!os::hungUp(Requests.get()) || os::bytesAvailable(Requests.get()) > 0)
    return false;
  os::drainFifo(Replies.get());
  if (Status S = reopen(); !S)
    return S;
  if (State != Ready)
    if (Status S = writeState(Lock, Ready); !S)
      return S;
  InSession = false;
  return true;
}

Expected<std::unique_ptr<Channel>> PipeListener::accept(Deadline Until) {
  for (;;) {
    switch (os::waitReadable(Requests.get(), Until, Lifeline)) {
    case os::Ready::Yes:
      break;
    case os::Ready::Timeout:
      return Status::error(StatusCode::Timeout, "no compiler at pipe:" + Base);
    case os::Ready::Cancelled:
      return Status::error(StatusCode::PeerClosed,
                           "the compiler that started this peer is gone");
    }
    if (!InSession && os::bytesAvailable(Requests.get()) > 0) {
      InSession = true;
      return std::make_unique<Session>(*this);
    }
    Expected<bool> Recycled = recycle();
    if (!Recycled)
      return Recycled.status();
    if (!*Recycled && InSession) {
      // The rest of a session that has been given up.
      unsigned char Dropped[4096];
      os::readSome(Requests.get(), Dropped);
    }
    if (Until.passed())
      return Status::error(StatusCode::Timeout, "no compiler at pipe:" + Base);
  }
}

} // namespace

Expected<std::unique_ptr<Listener>> listenPipe(const RunnerString &Address,
                                               const ChannelOptions &Options) {
  if (Address.target().empty())
    return Address.errorAtTarget("expected the path in front of .in and .out");
  auto L = std::make_unique<PipeListener>(Address.target(), Options.MaxMessage,
                                          Options.Lifeline);
  if (Status S = L->open(); !S)
    return S;
  return L;
}

} // namespace cbridge
