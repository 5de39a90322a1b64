//===- ForkedPeer.cpp - A peer in a process of its own --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ServedPeer.h"

#include "os/File.h"
#include "os/Process.h"
#include "os/Socket.h"

#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace cbridge::conformance {

struct ServedPeer::Host {
  os::File Lifeline; // closed: the peer stops
  pid_t Process = -1;
};

static int runPeer(const std::string &Address, const Policy &Answer,
                   PeerOptions Options, os::File Ready, int Lifeline) {
  Expected<Peer> P = Peer::open(Address, std::move(Options));
  if (!P || ::write(Ready.get(), "!", 1) != 1)
    return 2;
  Ready.close();
  return serve(*P, Answer, [=] { return os::hungUp(Lifeline); }) ? 0 : 1;
}

ServedPeer::ServedPeer(const std::string &Address, Policy Answer,
                       PeerOptions Options)
    : H(std::make_unique<Host>()) {
  int Ready[2], Lifeline[2];
  if (::pipe2(Ready, O_CLOEXEC) != 0 || ::pipe2(Lifeline, O_CLOEXEC) != 0)
    std::abort();
  os::File ReadReady(Ready[0]), WriteReady(Ready[1]), ReadLine(Lifeline[0]);
  H->Lifeline = os::File(Lifeline[1]);
  H->Process = forkToRun([&] {
    H->Lifeline.close();
    return runPeer(Address, Answer, std::move(Options), std::move(WriteReady),
                   ReadLine.get());
  });
  WriteReady.close();
  char Byte;
  EXPECT_EQ(::read(ReadReady.get(), &Byte, 1), 1) << "no peer at " << Address;
}

ServedPeer::~ServedPeer() {
  H->Lifeline.close();
  finish();
}

void ServedPeer::finish() {
  if (H->Process < 0)
    return;
  int Exit = waitForExit(std::exchange(H->Process, -1));
  // A test may have killed it.
  EXPECT_TRUE(Exit == 0 || Exit == -SIGKILL) << "the peer ended with " << Exit;
}

pid_t ServedPeer::process() const { return H->Process; }

struct FreshPeer::Host {
  std::optional<ServedPeer> Forked;
  std::optional<os::Process> Program;
};

FreshPeer::FreshPeer(const ChannelUnderTest &Channel,
                     const std::string &Address)
    : H(std::make_unique<Host>()) {
  if (!Channel.BreaksInForks) {
    H->Forked.emplace(Address, increment);
    return;
  }
  // It serves one session, and goes when we go.
  Expected<os::Process> Started = os::Process::spawn(
      {CBRIDGE_CONFORMANCE_PEER, Address}, {"CBRIDGE_PEER=" + Address});
  EXPECT_TRUE(Started) << Started.status().toString();
  if (!Started)
    return;
  H->Program.emplace(std::move(*Started));
  std::string Path = Address.substr(Address.rfind(':') + 1);
  os::Backoff Pause;
  int Errno;
  for (Deadline Until = soon(); !os::connectUnix(Path, &Errno);)
    if (H->Program->exited() || !Pause.pause(Until)) {
      ADD_FAILURE() << "no peer at " << Address;
      return;
    }
}

FreshPeer::~FreshPeer() {
  if (H->Program)
    H->Program->end(Long);
}

} // namespace cbridge::conformance
