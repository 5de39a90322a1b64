//===- Rendezvous.cpp - Where compiler and trainer meet -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/method/Rendezvous.h"

#include <grpcpp/support/slice.h>

#include <algorithm>

namespace cbridge {

using Code = grpc::StatusCode;

/// All pieces in memory of their own: the message may be wanted again when the
/// tensors are others.
static grpc::Slice copied(const Message &M) {
  grpc_slice All = grpc_slice_malloc(M.size());
  unsigned char *At = GRPC_SLICE_START_PTR(All);
  auto Add = [&](Bytes Piece) {
    if (!Piece.empty())
      std::memcpy(At, Piece.data(), Piece.size());
    At += Piece.size();
  };
  Add(M.own());
  for (Bytes Piece : M.lent())
    Add(Piece);
  return {All, grpc::Slice::STEAL_REF};
}

static DecodedTensors::SpecList decisionOf(const Signature &Sig) {
  return std::make_shared<std::vector<TensorSpec>>(Sig.outputs());
}

Rendezvous::Rendezvous(Method Of, const Signature &Sig, std::string Name)
    : M(std::move(Of)), Name(std::move(Name)), Read(M.NewMessages()),
      Came{nullptr, DecodedTensors(decisionOf(Sig)), std::nullopt},
      Taken{nullptr, DecodedTensors(Came.Tensors.Specs), std::nullopt} {}

/// Ends a call with the observation that is given. Using is held.
void Rendezvous::give(AskedCall &To, uint64_t Step) {
  if (Step != 0 || M.Introduction.empty())
    return To.answer(Given->Bytes);
  std::vector<grpc::Slice> Slices;
  (void)Given->Bytes.Dump(&Slices);
  Slices.emplace_back(M.Introduction);
  To.answer(grpc::ByteBuffer(Slices.data(), Slices.size()));
}

/// The same with the next one, if there is one.
bool Rendezvous::giveNext(AskedCall &To, uint64_t Step) {
  // Whoever begins has not seen the episode that this would end.
  while (Step == 0 && !Queue.empty() && Queue[0].IsEnd && Queue[0].Step != 0)
    Queue.pop_front();
  if (Queue.empty())
    return false;
  Given = std::move(Queue.front());
  Queue.pop_front();
  give(To, Step);
  return true;
}

void Rendezvous::giveNextOrWait(const std::shared_ptr<AskedCall> &To,
                                uint64_t Step) {
  if (giveNext(*To, Step))
    return;
  Waiting = To;
  WaitingStep = Step;
}

/// Of a question: Turn is held. An end may come at any time, also while the
/// question of another runner is open; it has the step after that.
Status Rendezvous::show(Speaker &Who, Span<const TensorView> Features,
                        const Call &C, bool IsEnd) {
  // From here on, so that no other takes the step.
  std::lock_guard<std::mutex> Lock(Using);
  if (!Closed.ok())
    return Closed;
  Told Beside;
  Beside.Step = Next;
  Beside.Runner = Who.Runner;
  Beside.Context = C.Context;
  Beside.Reward = C.Reward;
  Beside.Terminated = IsEnd && !C.Truncated;
  Beside.Truncated = IsEnd && C.Truncated;
  if (Status S = Who.As->encode(Features, Beside, Who.Outgoing); !S)
    return S;
  grpc::Slice Bytes = copied(Who.Outgoing);
  Who.InEpisode = !IsEnd;
  if (!IsEnd)
    IsTaken = false;
  Queue.push_back({grpc::ByteBuffer(&Bytes, 1), Next, IsEnd});
  Next = IsEnd ? 0 : Next + 1;
  if (Waiting && giveNext(*Waiting, WaitingStep))
    Waiting.reset();
  return Status();
}

/// Waits until the question of this turn has its answer.
Status Rendezvous::await(std::unique_lock<std::mutex> &Lock, Deadline Until,
                         std::chrono::nanoseconds Timeout) {
  auto Over = [this] { return IsTaken || !Closed.ok(); };
  if (Until.isNever())
    Decided.wait(Lock, Over);
  else
    (void)Decided.wait_until(Lock, Until.end(), Over);
  if (IsTaken)
    return Status();
  if (Closed.ok()) {
    auto Limit = std::chrono::duration_cast<std::chrono::milliseconds>(Timeout);
    Closed = Status::error(
        StatusCode::Timeout,
        (isOpen() ? "no action from the trainer at " : "no trainer at ") +
            Name + " within " + std::to_string(Limit.count()) + " ms");
  }
  return Closed;
}

Status Rendezvous::decide(Speaker &Who, const TensorStorage &Features,
                          const Call &C, std::chrono::nanoseconds Timeout,
                          TensorStorage &Outputs) {
  std::lock_guard<std::mutex> Mine(Turn);
  Deadline Until = C.Until & Deadline::in(Timeout);
  if (Status S = show(Who, Features.views(), C, /*IsEnd=*/false); !S)
    return S;
  std::unique_lock<std::mutex> Lock(Using);
  if (Status S = await(Lock, Until, Timeout); !S)
    return S;
  // The call lives no longer than it must.
  std::shared_ptr<AskedCall> By = std::move(Taken.By);
  if (Taken.Failure)
    return Status::error(StatusCode::PeerError,
                         "the trainer at " + Name + ": " + *Taken.Failure);
  for (size_t I = 0; I < Outputs.size(); ++I)
    if (Status S = Outputs.assign(I, Taken.Tensors.Views[I]); !S)
      return S;
  return Status();
}

Status Rendezvous::endEpisode(Speaker &Who, const Call &C) {
  // If nothing of it has been shown, or nothing can show that it is over.
  if (!std::exchange(Who.InEpisode, false) || !Who.As->tellsEnds())
    return Status();
  return show(Who, {}, C, /*IsEnd=*/true);
}

void Rendezvous::close(const Status &Why) {
  std::lock_guard<std::mutex> Lock(Using);
  if (Closed.ok())
    Closed = Why;
  if (Waiting)
    Waiting->refuse(Code::UNAVAILABLE, Closed.message());
  Waiting.reset();
  Taken.By.reset();
  Decided.notify_all();
}

void Rendezvous::left(const AskedCall &Call) {
  std::lock_guard<std::mutex> Lock(Using);
  if (Waiting.get() == &Call)
    Waiting.reset();
}

/// Decodes what a call brings. A call without a number answers what is open, or
/// asks for what is next.
Expected<uint64_t> Rendezvous::stepOf(const std::shared_ptr<AskedCall> &Call) {
  uint64_t Implied = Given && !Given->IsEnd ? Given->Step + 1 : 0;
  if (!M.Steps && !isOpen())
    return Implied;
  Expected<Answered> A = Read->decode(Call->message(), Came.Tensors);
  if (!A)
    return A.status();
  Came.Failure = std::move(A->Failure);
  return A->Step.value_or(Implied);
}

/// Which steps are right now, for people.
std::string Rendezvous::expected() const {
  if (!Given || Given->IsEnd)
    return "0";
  std::string Following = std::to_string(Given->Step + 1);
  return Given->Answered
             ? Following
             : Following + ", or " + std::to_string(Given->Step) + " again";
}

/// Whether a call repeats the action that was taken last. Without steps,
/// nobody can tell.
bool Rendezvous::isLatest(const AskedCall &Call) const {
  Bytes Action = Call.message();
  return !M.Steps ||
         std::equal(Action.begin(), Action.end(), Latest.begin(), Latest.end());
}

static void refuseOther(AskedCall &Call, uint64_t Step) {
  Call.refuse(Code::FAILED_PRECONDITION, "step " + std::to_string(Step) +
                                             " was taken with another action");
}

void Rendezvous::asked(const std::shared_ptr<AskedCall> &Call) {
  std::lock_guard<std::mutex> Lock(Using);
  if (!Closed.ok())
    return Call->refuse(Code::UNAVAILABLE, Closed.message());
  // Or the same, which has given its call up and tries again.
  if (Waiting && Call->askAgain())
    return;
  if (Waiting)
    return Call->refuse(Code::ABORTED, "another trainer is connected");
  Expected<uint64_t> Step = stepOf(Call);
  if (!Step)
    return Call->refuse(Code::INVALID_ARGUMENT, Step.status().message());
  // Whoever begins, or begins again, sees what is to be decided.
  if (*Step == 0)
    return isOpen() ? give(*Call, 0) : giveNextOrWait(Call, 0);
  bool Again = Given && *Step == Given->Step && !Given->Answered;
  if (Again)
    return isLatest(*Call) ? give(*Call, *Step) : refuseOther(*Call, *Step);
  if (!Given || Given->IsEnd || *Step != Given->Step + 1)
    return Call->refuse(Code::FAILED_PRECONDITION,
                        "step " + std::to_string(*Step) +
                            " is wrong; expected " + expected());
  if (isOpen()) {
    std::swap(Came, Taken);
    Taken.By = Call;
    Bytes Action = Call->message();
    if (M.Steps)
      Latest.assign(Action.begin(), Action.end());
    Given->Answered = IsTaken = true;
    Decided.notify_all();
  } else if (!isLatest(*Call)) {
    return refuseOther(*Call, *Step);
  }
  giveNextOrWait(Call, *Step);
}

} // namespace cbridge
