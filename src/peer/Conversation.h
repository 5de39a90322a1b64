//===- Conversation.h - A peer's session with one compiler ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PEER_CONVERSATION_H
#define CBRIDGE_PEER_CONVERSATION_H

#include "channel/Channel.h"
#include "core/Recycler.h"
#include "peer/Question.h"

#include <map>

namespace cbridge {

/// One compiler, from its first byte to the end of its last episode.
class Conversation {
public:
  using Answer = std::shared_ptr<const Question>;

  Conversation(uint64_t Serial, size_t Address, std::unique_ptr<Channel> Over,
               const PeerOptions &Options)
      : Serial(Serial), Address(Address), Over(std::move(Over)),
        Options(Options) {}

  /// The next thing for the policy: a question or the end of an episode. Null:
  /// there is nothing yet. A time-out is the only failure: whatever else goes
  /// wrong ends the session.
  Expected<Answer> fetch(Deadline Until);
  /// Once the session is over: the ends of its episodes, and then null.
  Answer nextEnd();

  uint64_t serial() const { return Serial; }
  /// Null once the session is over.
  Channel *channel() const { return Over.get(); }
  /// There is an open question.
  bool awaitsReply() const { return Awaiting; }
  /// Whether Q is that question.
  bool isOpen(const Question *Q) const { return Awaiting && OpenQuestion == Q; }
  TensorStorage &decision() { return Decision; }
  Status reply(Deadline Until);
  Status fail(std::string_view Why);
  /// Nobody waits for a compiler forever that does not say hello.
  bool overdue() const { return Over && !Agreed && GreetBy.passed(); }
  void breakOff(const Status &Why);

private:
  Expected<Answer> handle(const Frame &F);
  Status greet(const Frame &F);
  Expected<Answer> question(const Frame &F);
  Answer endOf(uint32_t Runner, std::optional<double> Reward, bool Truncated);
  Status answer(FrameKind Kind, Deadline Until, uint32_t Flags = 0);
  std::shared_ptr<Question> freshQuestion();

  const uint64_t Serial;
  const size_t Address;
  std::unique_ptr<Channel> Over;
  const PeerOptions &Options;
  Deadline GreetBy = Deadline::in(std::chrono::seconds(30));
  std::shared_ptr<const Terms> Agreed; // null before hello
  std::unique_ptr<Serializer> With;
  TensorStorage Decision{{}};
  Message Outgoing;
  std::string Context;
  uint64_t Session = 0, Sequence = 0;
  uint32_t Runner = 0;                    // of the open question
  const Question *OpenQuestion = nullptr; // only compared
  bool Awaiting = false, SaidBye = false;
  Recycler<Question> Questions;
  /// The latest question of each runner whose episode is not over.
  std::map<uint32_t, Answer> OpenEpisodes;
};

} // namespace cbridge

#endif // CBRIDGE_PEER_CONVERSATION_H
