//===- ShmListener.cpp - The peer's end of shared memory ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/SocketListener.h"
#include "channel/shm/Shm.h"
#include "channel/shm/ShmChannel.h"

namespace cbridge {

namespace {

class ShmListener : public SocketListener {
public:
  ShmListener(const std::string &Name, std::string Path,
              const ChannelOptions &Options)
      : SocketListener(std::move(Path), Options),
        Name("the compiler at shm:" + Name) {}

protected:
  std::unique_ptr<Channel> makeSession(os::File Connected,
                                       size_t MaxMessage) override {
    return std::make_unique<shm::ShmChannel>(Name, std::move(Connected),
                                             MaxMessage);
  }

private:
  const std::string Name;
};

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
