//===- Peer.h - The model's end of a channel --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PEER_H
#define CBRIDGE_PEER_H

#include <cbridge/Deadline.h>
#include <cbridge/Signature.h>
#include <cbridge/TensorStorage.h>

#include <functional>
#include <memory>
#include <optional>

namespace cbridge {

/// One question of a compiler: its features and what accompanies them. Stays
/// valid as long as somebody holds it.
class Request {
public:
  virtual ~Request();
  virtual const Signature &signature() const = 0;
  virtual TensorView feature(size_t I) const = 0;

  /// What is being compiled; empty if the compiler did not say.
  const std::string &context() const { return Context; }
  /// Of this runner's previous decision, if the compiler told.
  std::optional<double> reward() const { return Reward; }
  /// The episode is over: features are those of its last question, reward is
  /// the last one, and a reply is not needed.
  bool done() const { return Done; }
  /// It is over because the compiler died, gave up, or reached a limit.
  bool truncated() const { return Truncated; }
  /// Tells apart sessions, and the runners (threads) within one.
  uint64_t session() const { return Session; }
  uint32_t runner() const { return Runner; }
  /// Which of the peer's addresses the compiler came to.
  size_t address() const { return Address; }

protected:
  std::string Context;
  std::optional<double> Reward;
  uint64_t Session = 0;
  uint32_t Runner = 0;
  size_t Address = 0;
  bool Done = false, Truncated = false;
};

struct PeerOptions {
  /// Refuse compilers that do not send these features or that want another
  /// decision. Empty sides are not checked.
  Signature Expects;
  /// Stop after so many sessions; 0 means never. A peer that was started by a
  /// runner (`spawn=`) serves one.
  size_t Sessions = 0;
  size_t MaxMessage = size_t(1) << 30;
  /// Features may be lent by the compiler instead of copied: they are valid
  /// until the reply and must not be trusted to stay the same until then.
  bool Lend = false;
  /// Told why a session broke; the peer goes on with the next one. That a
  /// compiler hangs up between episodes is no reason, if it says goodbye or
  /// not.
  std::function<void(const Status &)> OnSessionError;
};

/// The model's end of a channel: answers compilers, any number at a time. One
/// that lies or dies ends its own session only. One thread at a time.
class Peer {
public:
  /// Serves Address (`shm:NAME`, `pipe:BASE`). An empty one is taken from
  /// CBRIDGE_PEER, which a runner sets for the peer that it starts.
  static Expected<Peer> open(std::string_view Address,
                             PeerOptions Options = PeerOptions());
  /// The same for several addresses.
  static Expected<Peer> open(Span<const std::string> Addresses,
                             PeerOptions Options = PeerOptions());
  Peer(Peer &&) noexcept;
  Peer &operator=(Peer &&) noexcept;
  /// Removes what open() made.
  ~Peer();

  /// The next question, or the end of an episode. Timeout may be followed by
  /// another call; PeerClosed says that there will be no more sessions. Any
  /// other failure means that the channel itself is broken.
  Expected<std::shared_ptr<const Request>> next(Deadline Until);

  /// Where the decision goes before reply(). Only while a question is open.
  TensorStorage &decision();
  bool awaitsReply() const;
  /// Sends decision(). Fails with a transport error if the compiler is gone,
  /// which ends only its session. Without an open question it does nothing.
  Status reply(Deadline Until = Deadline::in(std::chrono::seconds(10)));
  /// Tells the compiler that there is no decision this time.
  Status fail(std::string_view Why);

  /// Appends all questions and ends of episodes that are there to To, at least
  /// one and at most Most (0: no limit); fails as next() does. Each question
  /// gets a reply of its own, in any order; one that gets none keeps only its
  /// own session waiting. If a compiler leaves meanwhile, its question is not
  /// open any more, and its episode's end comes.
  Status nextBatch(Deadline Until,
                   std::vector<std::shared_ptr<const Request>> &To,
                   size_t Most = 0);
  /// Whether something comes, looking at shared memory for so long. Makes no
  /// system call.
  bool comesSoon(std::chrono::nanoseconds Within);
  /// Whether there are compilers that may still ask, beside those that wait for
  /// a reply.
  bool waitsForMore() const;
  /// What decision(), awaitsReply(), reply() and fail() do for the latest
  /// question of next(), for any question of this peer that is open.
  TensorStorage &decision(const Request &R);
  bool awaitsReply(const Request &R) const;
  Status reply(const Request &R,
               Deadline Until = Deadline::in(std::chrono::seconds(10)));
  Status fail(const Request &R, std::string_view Why);
  /// Tells every compiler that waits, also those whose questions nobody has
  /// taken yet.
  void failAll(std::string_view Why);

  /// The first of its addresses, and all of them.
  const std::string &address() const;
  const std::vector<std::string> &addresses() const;

private:
  class Server;
  explicit Peer(std::unique_ptr<Server> S);
  std::unique_ptr<Server> S;
};

} // namespace cbridge

#endif // CBRIDGE_PEER_H
