//===- RawUnix.cpp - The raw ends of unix: --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RawFiles.h"

#include "os/Socket.h"

#include <unistd.h>

namespace cbridge::conformance {

namespace {

// unix:PATH, of examples/own-channel: frames on a stream socket.

std::string unixAddress(const std::string &Directory) {
  return "unix:" + Directory + "/peer";
}

/// Read is the socket, for both directions.
class RawSocket : public RawFiles {
public:
  using RawEnd::send;
  bool send(std::string_view Data, Deadline Until) override {
    while (!Data.empty()) {
      if (!connected(Until))
        return false;
      Bytes Left(reinterpret_cast<const unsigned char *>(Data.data()),
                 Data.size());
      os::Transfer T = os::sendSome(Read.get(), {&Left, 1}, {});
      if (T.Kind == os::Transfer::Done)
        Data.remove_prefix(T.Size);
      else if (T.Kind != os::Transfer::WouldBlock ||
               os::waitWritable(Read.get(), Until) != os::Ready::Yes)
        return false;
    }
    return true;
  }
  bool receive(size_t Size, std::string &To, Deadline Until) override {
    return connected(Until) && RawFiles::receive(Size, To, Until);
  }

protected:
  virtual bool connected(Deadline) { return true; }
};

class RawUnixPeer : public RawSocket {
public:
  explicit RawUnixPeer(std::string Path) : Path(std::move(Path)) {}
  ~RawUnixPeer() override { ::unlink(Path.c_str()); }
  bool open() { return take(Listening, os::listenUnix(Path)); }

private:
  bool connected(Deadline Until) override {
    return Read ||
           (os::waitReadable(Listening.get(), Until) == os::Ready::Yes &&
            take(Read, os::acceptUnix(Listening)));
  }
  std::string Path;
  os::File Listening;
};

std::unique_ptr<RawEnd> makeUnixPeer(const std::string &Address) {
  auto End = std::make_unique<RawUnixPeer>(targetOf(Address));
  if (!End->open())
    return nullptr;
  return End;
}

std::unique_ptr<RawEnd> makeUnixCompiler(const std::string &Address, Manners) {
  auto End = std::make_unique<RawSocket>();
  int Errno;
  if (!take(End->Read, os::connectUnix(targetOf(Address), &Errno)))
    return nullptr;
  return End;
}

} // namespace

ChannelUnderTest unixUnderTest() {
  ChannelUnderTest C;
  C.Name = "unix";
  C.HidesHalves = true;
  C.Address = unixAddress;
  C.MakePeer = makeUnixPeer;
  C.MakeCompiler = makeUnixCompiler;
  return C;
}

} // namespace cbridge::conformance
