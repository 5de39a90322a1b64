//===- Rendezvous.h - Where compiler and trainer meet -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_METHOD_RENDEZVOUS_H
#define CBRIDGE_MODULES_GRPC_METHOD_RENDEZVOUS_H

#include "modules/grpc/method/MethodServer.h"
#include "modules/grpc/wire/MethodMessages.h"

#include <cbridge/Engine.h>

#include <atomic>
#include <condition_variable>
#include <deque>

namespace cbridge {

/// Where the threads of a compiler, which have observations and want actions,
/// meet the calls of a trainer, which bring an action and want the observation
/// that comes of it. Observations are numbered from 0, the first after each end
/// of an episode; docs/formats/grpc.md says which step a call may have.
class Rendezvous : public CallHandler {
public:
  Rendezvous(Method M, const Signature &Sig, std::string Name);
  /// Before anybody asks: the address that was chosen.
  void rename(std::string To) { Name = std::move(To); }

  /// One runner.
  struct Speaker {
    uint32_t Runner;
    std::unique_ptr<MethodMessages> As;
    Message Outgoing = {};
    bool InEpisode = false;
  };
  Speaker newSpeaker() { return {++Runners, M.NewMessages()}; }

  // Of the compiler's threads, which take turns.

  /// Shows the features and waits for the decision. Timeout counts from this
  /// runner's turn; when it has passed, nobody will be answered again.
  Status decide(Speaker &Who, const TensorStorage &Features, const Call &C,
                std::chrono::nanoseconds Timeout, TensorStorage &Outputs);
  /// Waits for nobody.
  Status endEpisode(Speaker &Who, const Call &C);
  /// From now on every call is refused because of this.
  void close(const Status &Why);

  // Of the server's thread.

  void asked(const std::shared_ptr<AskedCall> &Call) override;
  void left(const AskedCall &Call) override;

private:
  /// An observation.
  struct Shown {
    grpc::ByteBuffer Bytes;
    uint64_t Step = 0;
    bool IsEnd = false;
    bool Answered = false; // by an action
  };
  /// What came with a call.
  struct Brought {
    std::shared_ptr<AskedCall> By; // in whose memory the tensors are
    DecodedTensors Tensors;
    std::optional<std::string> Failure;
  };

  Status show(Speaker &Who, Span<const TensorView> Features, const Call &C,
              bool IsEnd);
  Status await(std::unique_lock<std::mutex> &Lock, Deadline Until,
               std::chrono::nanoseconds Timeout);
  Expected<uint64_t> stepOf(const std::shared_ptr<AskedCall> &Call);
  bool isOpen() const { return Given && !Given->IsEnd && !Given->Answered; }
  void give(AskedCall &To, uint64_t Step);
  bool giveNext(AskedCall &To, uint64_t Step);
  void giveNextOrWait(const std::shared_ptr<AskedCall> &To, uint64_t Step);
  std::string expected() const;
  bool isLatest(const AskedCall &Call) const;

  const Method M;
  std::string Name;
  std::atomic<uint32_t> Runners{0};
  std::mutex Turn; // of those that decide, taken first
  std::mutex Using;
  uint64_t Next = 0; // the next observation's step
  std::condition_variable Decided;
  /// Not given to a call yet. At most one is a question; all others are ends,
  /// at most one for each runner.
  std::deque<Shown> Queue;
  std::optional<Shown> Given;         // latest
  std::shared_ptr<AskedCall> Waiting; // for the next observation
  uint64_t WaitingStep = 0;
  std::unique_ptr<MethodMessages> Read; // of the server's thread
  Brought Came, Taken;
  std::vector<unsigned char> Latest; // action that was taken, if it has a step
  bool IsTaken = false;              // the turn's question has its answer
  Status Closed;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_METHOD_RENDEZVOUS_H
