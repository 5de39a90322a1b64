//===- Server.h - Serves the compilers of all addresses ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PEER_SERVER_H
#define CBRIDGE_PEER_SERVER_H

#include "os/Spin.h"
#include "peer/Conversation.h"

#include <algorithm>

namespace cbridge {

/// Any number of sessions at any number of addresses, served by one thread:
/// looks at all of them, spins for those in shared memory, then sleeps until
/// one of their files wakes it.
class Peer::Server {
public:
  using Answer = Conversation::Answer;

  static Expected<std::unique_ptr<Server>>
  open(Span<const std::string> Addresses, PeerOptions Options);

  /// Waits until there is something for the policy, and takes the oldest.
  Expected<Answer> next(Deadline Until);
  /// The same for all that there is.
  Status nextBatch(Deadline Until, size_t Most,
                   std::vector<std::shared_ptr<const Request>> &To);
  bool comesSoon(std::chrono::nanoseconds Within);
  bool waitsForMore() const;
  /// The session in which Q is open, or null.
  Conversation *asker(const Question &Q) {
    return Q.done() ? nullptr : asker(&Q, Q.serial());
  }
  /// The same for what next() gave.
  Conversation *latestAsker() {
    return Latest ? asker(Latest, LatestSerial) : nullptr;
  }
  /// The same before an answer, after which another question may lie there.
  Conversation *answering(const Question &Q) {
    Conversation *To = asker(Q);
    if (&Q == Latest)
      Latest = nullptr;
    return To;
  }
  Conversation *answeringLatest() {
    Conversation *To = latestAsker();
    Latest = nullptr;
    return To;
  }

  void failAll(std::string_view Why);

  std::vector<std::string> Addresses;

private:
  Conversation *asker(const Question *Q, uint64_t Serial);
  /// An address and the sessions it has now.
  struct Site {
    std::unique_ptr<Listener> Waiting;
    bool ManySessions;
    size_t Live = 0;
  };
  struct Session {
    Session(uint64_t Serial, size_t Site, std::unique_ptr<Channel> Over,
            const PeerOptions &Options)
        : With(Serial, Site, std::move(Over), Options), Site(Site) {}
    Conversation With;
    size_t Site;
    size_t FirstFile = 0, LastFile = 0; // in Files
  };

  /// What has come, in the order of arrival. Stops allocating.
  class Queue {
  public:
    bool empty() const { return First == Each.size(); }
    void push(Answer A) { Each.push_back(std::move(A)); }
    Answer pop() {
      Answer Oldest = std::move(Each[First++]);
      if (empty()) {
        Each.clear();
        First = 0;
      }
      return Oldest;
    }
    /// Only the ends of episodes stay.
    void dropQuestions() {
      Each.erase(Each.begin(), Each.begin() + ptrdiff_t(First));
      First = 0;
      Each.erase(std::remove_if(Each.begin(), Each.end(),
                                [](const Answer &A) { return !A->done(); }),
                 Each.end());
    }

  private:
    std::vector<Answer> Each;
    size_t First = 0;
  };

  explicit Server(PeerOptions Options) : Options(std::move(Options)) {}
  Status listen(const std::string &Text, int Lifeline);
  Status noRequest() const;
  Status wait(Deadline Until);
  bool lookAtMemory();
  bool someAreReady() const;
  os::Spin howToSpin() const;
  Status lookAtFiles(Deadline Until);
  Status accept(Site &At, size_t Index);
  void push(Answer A);
  Answer take();
  void collect(Session &S);
  bool accepts(const Site &At) const;
  void removeFinished();
  bool noticeGone();
  Conversation *onlyOne();

  PeerOptions Options;
  int Lifeline = -1;
  std::vector<Site> Sites;
  std::vector<std::unique_ptr<Session>> Sessions;
  Queue Found;
  /// What next() gave, if it is a question: only compared.
  const Question *Latest = nullptr;
  uint64_t LatestSerial = 0;
  size_t Next = 0; // whose turn it is to be looked at first
  uint64_t Begun = 0;
  os::FileSet Files;
  std::vector<std::pair<size_t, size_t>> SiteFiles;
  os::SpinHabit Spinning;
  unsigned Answers = 0;
  Deadline LookAgain = Deadline::in(std::chrono::seconds(0));
  Deadline LookForGone = LookAgain;
};

} // namespace cbridge

#endif // CBRIDGE_PEER_SERVER_H
