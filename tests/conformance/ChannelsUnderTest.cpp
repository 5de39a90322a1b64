//===- ChannelsUnderTest.cpp - The channels and their raw ends ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ChannelsUnderTest.h"

#include "channel/pipe/PipeFiles.h"
#include "os/Lock.h"

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::conformance {

RawEnd::~RawEnd() = default;

static Deadline soon() { return Deadline::in(std::chrono::seconds(10)); }

bool RawEnd::send(std::string_view Data) { return send(Data, soon()); }

bool RawEnd::send(FrameHeader Header, std::string_view Payload) {
  return send(frameBytes(Header, Payload));
}

std::optional<RawFrame> RawEnd::receiveFrame(Deadline Until) {
  std::string Encoded;
  if (!receive(FrameHeader::Size, Encoded, Until))
    return std::nullopt;
  Expected<FrameHeader> Header = FrameHeader::decode(
      reinterpret_cast<const unsigned char *>(Encoded.data()));
  RawFrame F;
  if (!Header || !receive(Header->Length, F.Payload, Until))
    return std::nullopt;
  F.Header = *Header;
  return F;
}

bool RawEnd::awaitHangUp(Deadline Until) {
  for (std::string Dropped; receive(1, Dropped, Until); Dropped.clear()) {
  }
  return !Until.passed();
}

std::string headerBytes(const FrameHeader &Header) {
  unsigned char Encoded[FrameHeader::Size];
  Header.encode(Encoded);
  return {reinterpret_cast<char *>(Encoded), sizeof(Encoded)};
}

std::string frameBytes(FrameHeader Header, std::string_view Payload) {
  Header.Length = Payload.size();
  return headerBytes(Header) + std::string(Payload);
}

namespace {

/// Non-blocking files to write to and to read from.
class RawFiles : public RawEnd {
public:
  using RawEnd::send;
  bool send(std::string_view Data, Deadline Until) override {
    while (!Data.empty()) {
      Bytes Left(reinterpret_cast<const unsigned char *>(Data.data()),
                 Data.size());
      os::Transfer T = os::writeSome(Write.get(), {&Left, 1});
      if (T.Kind == os::Transfer::Done)
        Data.remove_prefix(T.Size);
      else if (T.Kind != os::Transfer::WouldBlock ||
               os::waitWritable(Write.get(), Until) != os::Ready::Yes)
        return false;
    }
    return true;
  }
  bool receive(size_t Size, std::string &To, Deadline Until) override {
    unsigned char Part[4096];
    while (Size > 0) {
      if (os::waitReadable(Read.get(), Until) != os::Ready::Yes)
        return false;
      os::Transfer T =
          os::readSome(Read.get(), {Part, std::min(Size, sizeof(Part))});
      if (T.Kind == os::Transfer::WouldBlock)
        continue;
      if (T.Kind != os::Transfer::Done)
        return false;
      To.append(reinterpret_cast<char *>(Part), T.Size);
      Size -= T.Size;
    }
    return true;
  }

  os::File Lock, Read, Write;
};

// pipe:BASE. Follows docs/formats/pipe.md, not our implementation of it.

std::string pipeAddress(const std::string &Directory) {
  return "pipe:" + Directory + "/peer";
}

std::string baseOf(const std::string &Address) {
  return Address.substr(Address.find(':') + 1);
}

bool take(os::File &To, Expected<os::File> From) {
  if (From)
    To = std::move(*From);
  return From.ok();
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
           os::tryLock(Lock, pipe::PeerByte) &&
           ::mkfifo(pipe::toPeer(Base).c_str(), S_IRUSR | S_IWUSR) == 0 &&
           ::mkfifo(pipe::toCompiler(Base).c_str(), S_IRUSR | S_IWUSR) == 0 &&
           take(Write, pipe::openFifo(pipe::toCompiler(Base), O_RDWR)) &&
           take(Read, pipe::openFifo(pipe::toPeer(Base), O_RDONLY)) &&
           pipe::writeState(Lock, pipe::Ready).ok();
  }

private:
  std::string Base;
};

std::unique_ptr<RawEnd> makePipePeer(const std::string &Address) {
  auto End = std::make_unique<RawPipePeer>(baseOf(Address));
  if (!End->open())
    return nullptr;
  return End;
}

std::unique_ptr<RawEnd> makePipeCompiler(const std::string &Address,
                                         Manners How) {
  std::string Base = baseOf(Address);
  auto End = std::make_unique<RawFiles>();
  if (How == Manners::Polite &&
      (!take(End->Lock, os::openFile(pipe::lockFile(Base), O_RDWR)) ||
       !os::tryLock(End->Lock, pipe::SessionByte) ||
       pipe::readState(End->Lock) != pipe::Ready))
    return nullptr;
  // For reading as well, so that writing to a dead peer raises no signal.
  if (!take(End->Write, pipe::openFifo(pipe::toPeer(Base), O_RDWR)) ||
      !take(End->Read, pipe::openFifo(pipe::toCompiler(Base), O_RDONLY)))
    return nullptr;
  if (How == Manners::Polite && !pipe::writeState(End->Lock, pipe::Busy).ok())
    return nullptr;
  return End;
}

} // namespace

const std::vector<ChannelUnderTest> &channelsUnderTest() {
  static const auto *const Channels = new std::vector<ChannelUnderTest>{
      {"pipe", /*OneSessionAtATime=*/true, pipeAddress, makePipePeer,
       makePipeCompiler},
  };
  return *Channels;
}

} // namespace cbridge::conformance
