//===- ThreadedPeer.cpp - A peer in a thread ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ServedPeer.h"

#include <atomic>
#include <thread>

#include <unistd.h>

namespace cbridge::conformance {

struct ServedPeer::Host {
  explicit Host(Peer P) : Serving(std::move(P)) {}
  Peer Serving;
  std::atomic<bool> Stop{false};
  std::thread Thread;
};

ServedPeer::ServedPeer(const std::string &Address, Policy Answer,
                       PeerOptions Options) {
  Expected<Peer> Opened = Peer::open(Address, std::move(Options));
  EXPECT_TRUE(Opened) << Opened.status().toString();
  if (!Opened)
    return;
  H = std::make_unique<Host>(std::move(*Opened));
  H->Thread = std::thread([this, Answer = std::move(Answer)] {
    EXPECT_TRUE(serve(H->Serving, Answer, [this] { return H->Stop.load(); }));
  });
}

ServedPeer::~ServedPeer() {
  if (H)
    H->Stop = true;
  finish();
}

void ServedPeer::finish() {
  if (H && H->Thread.joinable())
    H->Thread.join();
}

pid_t ServedPeer::process() const { return ::getpid(); }

struct FreshPeer::Host {
  ServedPeer Peer;
};

FreshPeer::FreshPeer(const ChannelUnderTest &, const std::string &Address)
    : H(new Host{{Address, increment}}) {}
FreshPeer::~FreshPeer() = default;

} // namespace cbridge::conformance
