//===- Ends.cpp - The peers and compilers of a soak -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Soak.h"

#include "os/Socket.h"

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <cstring>
#include <thread>

using std::chrono::milliseconds;

namespace cbridge::soak {

Signature signature() {
  return {{TensorSpec::create<int64_t>("wish"),
           TensorSpec::create<int64_t>("data", {Dynamic})},
          {TensorSpec::create<int64_t>("answer"),
           TensorSpec::create<int64_t>("back", {Dynamic})}};
}

int64_t rightAnswer(int64_t Wish, Span<const int64_t> Data) {
  auto Sum = uint64_t(Wish) * 31 + Data.size();
  for (int64_t Each : Data)
    Sum = Sum * 1000003 + uint64_t(Each);
  return int64_t(Sum);
}

static void answer(Peer &P, const Request &R, Board::PeerState &State) {
  int64_t Wish = R.feature(0).as<int64_t>()[0];
  Span<const int64_t> Data = R.feature(1).as<int64_t>();
  switch (Wish) {
  case Fail:
    (void)P.fail("as wished");
    return;
  case Wait:
    std::this_thread::sleep_for(milliseconds(1));
    break;
  case Die:
    // Unless somebody is about to kill us anyway.
    if (uint64_t Now = State.Generation;
        Now % 2 == 0 && State.Generation.compare_exchange_strong(Now, Now + 1))
      ::raise(SIGKILL);
    break;
  default:
    break;
  }
  int64_t Answer = rightAnswer(Wish, Data);
  TensorStorage &To = P.decision();
  std::memcpy(To.bytes(0).data(), &Answer, sizeof(Answer));
  int64_t Size = int64_t(Data.size());
  if (Status S = To.resize(1, {&Size, 1}); !S) {
    (void)P.fail(S.message());
    return;
  }
  auto *Back = reinterpret_cast<int64_t *>(To.bytes(1).data());
  for (size_t I = 0; I < Data.size(); ++I)
    Back[I] = Data[Data.size() - 1 - I];
  (void)P.reply();
}

int runPeer(Board &B, size_t Index, const std::string &Address) {
  PeerOptions Options;
  Options.Lend = Index % 2 == 1;
  Expected<Peer> P = Peer::open(Address, Options);
  if (!P) {
    B.violation("no peer at " + Address + ": " + P.status().toString());
    return 1;
  }
  ++B.Peer[Index].Generation;
  while (!B.Stop) {
    auto R = P->next(Deadline::in(milliseconds(50)));
    if (R && !(*R)->done())
      answer(*P, **R, B.Peer[Index]);
    else if (!R && R.status().code() != StatusCode::Timeout) {
      B.violation("a peer gives up: " + R.status().toString());
      return 1;
    }
  }
  return 0;
}

namespace {

class Compiler {
public:
  Compiler(Board &B, size_t Index, const Plan &P,
           const std::vector<std::string> &Addresses, uint64_t Seed)
      : B(B), Index(Index), P(P), Addresses(Addresses), Random(Seed) {}

  void run() {
    while (!B.Stop) {
      B.Compiler[Index].Since = nanoseconds();
      session();
      B.Compiler[Index].Since = 0;
      ++B.Sessions;
    }
  }

private:
  bool oneIn(unsigned Times) { return Random() % Times == 0; }

  void session() {
    At = Random() % Addresses.size();
    Before = B.Peer[At].Generation;
    if (P.Channel == "shm" && oneIn(20))
      return hangUp();
    std::string Runner = Addresses[At] + "?timeout=15s&connect=15s";
    if (P.Channel == "grpc" && oneIn(3))
      Runner += "&mode=unary";
    Expected<Model> M = Model::open(Runner, signature());
    if (!M)
      return B.violation("open: " + M.status().toString());
    if (!M->whyNot().ok())
      return broke("open", M->whyNot());
    MLModelRunner First = M->runner();
    std::optional<MLModelRunner> Second;
    if (oneIn(10))
      Second.emplace(M->runner());
    for (uint64_t Left = Random() % 8; Left; --Left) {
      MLModelRunner &R = Second && oneIn(2) ? *Second : First;
      if (!decide(R))
        return;
      if (oneIn(1000))
        ::raise(SIGKILL); // leaves all open
    }
    if (oneIn(2))
      (void)First.endEpisode();
  }

  bool decide(MLModelRunner &R) {
    uint64_t Dice = Random() % 1000;
    // One that may die is not the first, which is looked after.
    int64_t Wish = Dice < 10              ? Fail
                   : Dice < 20            ? Wait
                   : Dice == 20 && At > 0 ? Die
                                          : Answer;
    size_t Most = Dice % 50 == 1 ? 65536 : Dice % 5 == 1 ? 4096 : 64;
    int64_t Size = int64_t(Random() % Most);
    if (oneIn(20))
      R.switchContext(std::string(size_t(Random() % 6000), 'c'));
    R.getTensor<int64_t>(0)[0] = Wish;
    R.resize(1, {Size});
    Span<int64_t> Data = R.getTensor<int64_t>(1);
    for (int64_t &Each : Data)
      Each = int64_t(Random());
    Expected<Decision> D = R.evaluate();
    if (!D)
      return failed(Wish, D.status());
    if (Wish == Fail) {
      B.violation("a decision that the peer did not take");
      return false;
    }
    Span<const int64_t> Back = D->tensor(1).as<int64_t>();
    bool Right = D->tensor(0).as<int64_t>()[0] == rightAnswer(Wish, Data) &&
                 Back.size() == Data.size();
    for (size_t I = 0; Right && I < Back.size(); ++I)
      Right = Back[I] == Data[Data.size() - 1 - I];
    if (!Right)
      B.violation("a wrong answer to " + std::to_string(Size) + " numbers");
    ++B.Decisions;
    return Right;
  }

  bool failed(int64_t Wish, const Status &Why) {
    if (Wish == Fail && Why.code() == StatusCode::PeerError) {
      ++B.Failures;
      return true;
    }
    broke("a decision", Why);
    return false;
  }

  /// Whether a failure is the peer's death.
  void broke(const char *What, const Status &Why) {
    bool Excused = Before % 2 || B.Peer[At].Generation != Before;
    bool Fitting = Why.code() == StatusCode::PeerClosed ||
                   Why.code() == StatusCode::Unavailable;
    if (Excused && Fitting)
      ++B.Broken;
    else
      B.violation(std::string(What) + " at " + Addresses[At] +
                  (Excused ? " (the peer died)" : " (the peer lives)") + ": " +
                  Why.toString());
  }

  /// A compiler that goes away in the middle of its hello.
  void hangUp() {
    int Errno = 0;
    const std::string &Address = Addresses[At];
    if (auto Socket =
            os::connectUnix(Address.substr(Address.find(':') + 1), &Errno)) {
      unsigned char Part[64] = {'C', 'B', 'R', 'G', 1, 0, 1};
      Bytes Sent(Part, size_t(Random() % sizeof(Part)));
      if (!Sent.empty())
        (void)os::sendSome(Socket->get(), {&Sent, 1}, {});
    }
    ++B.HangUps;
  }

  Board &B;
  const size_t Index;
  const Plan &P;
  const std::vector<std::string> &Addresses;
  std::mt19937_64 Random;
  size_t At = 0;
  uint64_t Before = 0;
};

} // namespace

int runCompiler(Board &B, size_t Index, const Plan &P,
                const std::vector<std::string> &Addresses, uint64_t Seed) {
  Compiler(B, Index, P, Addresses, Seed).run();
  return 0;
}

} // namespace cbridge::soak
