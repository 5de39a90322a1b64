//===- ShmServed.h - A peer beside the test ---------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SHM_SHMSERVED_H
#define CBRIDGE_CHANNEL_SHM_SHMSERVED_H

#include "channel/shm/ShmTest.h"

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <atomic>
#include <thread>

namespace cbridge::shm {

using Policy = std::function<void(Peer &, const Request &)>;

/// y = x + 1.
inline void increment(Peer &P, const Request &R) {
  if (R.done())
    return;
  int64_t Y = R.feature(0).as<int64_t>()[0] + 1;
  std::memcpy(P.decision().bytes(0).data(), &Y, sizeof(Y));
  (void)P.reply();
}

inline void serve(Peer &P, const Policy &Answer,
                  const std::function<bool()> &Stop, milliseconds Nap) {
  while (!Stop())
    if (auto R = P.next(Deadline::in(Nap)))
      Answer(P, **R);
}

/// A directory of its own, and a peer in a thread.
class ShmFixture : public ::testing::Test {
protected:
  ShmFixture() : Folder(*os::makePrivateDirectory()), Path(Folder + "/peer") {}
  ~ShmFixture() override {
    stop();
    EXPECT_TRUE(std::filesystem::is_empty(Folder));
    std::filesystem::remove_all(Folder);
  }
  void start(const Policy &Answer = increment,
             PeerOptions Options = PeerOptions()) {
    Options.OnSessionError = [this](const Status &) { ++Errors; };
    Expected<Peer> Opened = Peer::open("shm:" + Path, std::move(Options));
    ASSERT_TRUE(Opened) << Opened.status().toString();
    Serving = std::thread(
        [this, P = std::make_shared<Peer>(std::move(*Opened)), Answer] {
          serve(*P, Answer, [this] { return Stop.load(); }, milliseconds(20));
          Processor = processorTime();
        });
  }
  void stop() {
    Stop = true;
    if (Serving.joinable())
      Serving.join();
    Stop = false;
  }
  Model open(const Signature &Sig = oneNumber(),
             const std::string &More = "?timeout=30s") {
    Expected<Model> M = Model::open("shm:" + Path + More, Sig);
    EXPECT_TRUE(M) << M.status().toString();
    return *M;
  }
  static Expected<int64_t> ask(MLModelRunner &R, int64_t X) {
    R.populateFeatures(std::pair{"x", X});
    return R.evaluate<int64_t>();
  }
  void expectServed() {
    Model M = open();
    MLModelRunner R = M.runner();
    Stopwatch Watch;
    for (int64_t X = 0; X < 3; ++X)
      ASSERT_EQ(ask(R, X).valueOr(-1), X + 1) << M.whyNot().toString();
    EXPECT_LT(Watch.elapsed(), Slack);
  }
  os::File connect() {
    int Errno = 0;
    Expected<os::File> Made = os::connectUnix(Path, &Errno);
    EXPECT_TRUE(Made) << Made.status().toString();
    return Made ? std::move(*Made) : os::File();
  }
  /// A session that the test conducts by hand.
  std::unique_ptr<HandMade> greeted(const Signature &Sig = oneNumber()) {
    auto Made = std::make_unique<HandMade>(connect());
    EXPECT_TRUE(
        Made->greet(FrameKind::Hello, Hello{"bitstream", Sig}.encode()));
    EXPECT_TRUE(Made->takeGreeting());
    return Made;
  }

  const std::string Folder, Path;
  std::atomic<int> Errors{0};
  std::atomic<milliseconds> Processor{milliseconds(0)}; // of the peer, stopped

private:
  std::atomic<bool> Stop{false};
  std::thread Serving;
};

} // namespace cbridge::shm

#endif // CBRIDGE_CHANNEL_SHM_SHMSERVED_H
