//===- Question.h - A request as the peer keeps it --------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PEER_QUESTION_H
#define CBRIDGE_PEER_QUESTION_H

#include "channel/Frame.h"
#include "serdes/Serializer.h"

#include <cbridge/Peer.h>

namespace cbridge {

/// What the questions of one session have in common.
struct Terms {
  uint64_t Session = 0;
  /// Counts the sessions of a peer: compilers choose Session, and may lie.
  uint64_t Serial = 0;
  /// Which of the peer's addresses.
  size_t Address = 0;
  Signature Sig;
  DecodedTensors::SpecList Features;
};

class Question : public Request {
public:
  Question() : Tensors(std::make_shared<std::vector<TensorSpec>>()) {}
  const Signature &signature() const override { return Of->Sig; }
  TensorView feature(size_t I) const override { return Tensors.Views[I]; }
  uint64_t serial() const { return Of->Serial; }

  /// Makes it a question of T with no features yet.
  void begin(const std::shared_ptr<const Terms> &T, const FrameHeader &H,
             const std::string &About) {
    if (Of != T) // counting references costs more than to look
      Of = T;
    Session = Of->Session;
    Address = Of->Address;
    Runner = H.Runner;
    Context = About;
    Reward.reset();
    if (H.Flags & FrameHeader::HasReward)
      Reward = H.Reward;
    Done = Truncated = false;
    Tensors.describe(Of->Features);
  }
  /// Makes it the end of the episode whose latest question was Last.
  void beginEnd(std::shared_ptr<const Question> Last,
                std::optional<double> LastReward, bool Broken) {
    Of = Last->Of;
    Session = Last->Session;
    Address = Last->Address;
    Runner = Last->Runner;
    Context = Last->Context;
    Reward = LastReward;
    Done = true;
    Truncated = Broken;
    Tensors.Views = Last->Tensors.Views;
    Tensors.Specs = nullptr;  // these views are of no use for a question
    Before = std::move(Last); // which they point into
  }
  void release() {
    Payload.reset();
    Before.reset();
  }

  DecodedTensors Tensors;
  std::shared_ptr<const void> Payload;

private:
  std::shared_ptr<const Terms> Of;
  std::shared_ptr<const Question> Before;
};

} // namespace cbridge

#endif // CBRIDGE_PEER_QUESTION_H
