//===- RawPipe.cpp - A pipe by hand ---------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RawFiles.h"

#include "channel/PeerLock.h"
#include "channel/pipe/PipeFiles.h"
#include "os/Fifo.h"
#include "os/Lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::conformance {

namespace {

// pipe:BASE. Follows docs/formats/pipe.md, not our implementation of it.

std::string pipeAddress(const std::string &Directory) {
  return "pipe:" + Directory + "/peer";
}

class RawPipePeer : public RawFiles {
public:
  explicit RawPipePeer(std::string Base) : Base(std::move(Base)) {}
  ~RawPipePeer() override {
    for (const std::string &Path :
         {pipe::toPeer(Base), pipe::toCompiler(Base), pipe::lockFile(Base)})
      ::unlink(Path.c_str());
  }
  bool open() {
    return take(Lock, os::openFile(pipe::lockFile(Base), O_RDWR | O_CREAT,
                                   S_IRUSR | S_IWUSR)) &&
           os::tryLock(Lock, PeerByte) &&
           ::mkfifo(pipe::toPeer(Base).c_str(), S_IRUSR | S_IWUSR) == 0 &&
           ::mkfifo(pipe::toCompiler(Base).c_str(), S_IRUSR | S_IWUSR) == 0 &&
           take(Write, os::openFifo(pipe::toCompiler(Base), O_RDWR)) &&
           take(Read, os::openFifo(pipe::toPeer(Base), O_RDONLY)) &&
           pipe::writeState(Lock, pipe::Ready).ok();
  }

private:
  std::string Base;
};

std::unique_ptr<RawEnd> makePipePeer(const std::string &Address) {
  auto End = std::make_unique<RawPipePeer>(targetOf(Address));
  if (!End->open())
    return nullptr;
  return End;
}

std::unique_ptr<RawEnd> makePipeCompiler(const std::string &Address,
                                         Manners How) {
  std::string Base = targetOf(Address);
  auto End = std::make_unique<RawFiles>();
  if (How == Manners::Polite &&
      (!take(End->Lock, os::openFile(pipe::lockFile(Base), O_RDWR)) ||
       !os::tryLock(End->Lock, pipe::SessionByte) ||
       pipe::readState(End->Lock) != pipe::Ready))
    return nullptr;
  // For reading as well, so that writing to a dead peer raises no signal.
  if (!take(End->Write, os::openFifo(pipe::toPeer(Base), O_RDWR)) ||
      !take(End->Read, os::openFifo(pipe::toCompiler(Base), O_RDONLY)))
    return nullptr;
  if (How == Manners::Polite && !pipe::writeState(End->Lock, pipe::Busy).ok())
    return nullptr;
  return End;
}

} // namespace

ChannelUnderTest pipeUnderTest() {
  ChannelUnderTest C;
  C.Name = "pipe";
  C.OneSessionAtATime = true;
  C.Address = pipeAddress;
  C.MakePeer = makePipePeer;
  C.MakeCompiler = makePipeCompiler;
  return C;
}

} // namespace cbridge::conformance
