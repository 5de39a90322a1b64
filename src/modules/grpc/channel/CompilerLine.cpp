//===- CompilerLine.cpp - Calls a compiler that is the server -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/channel/CompilerLine.h"

#include "modules/grpc/Announcement.h"
#include "modules/grpc/wire/ObservationMessages.h"

#include <algorithm>

namespace cbridge {

/// Between two tries.
static constexpr std::chrono::milliseconds ShortestWait(20), LongestWait(500);
/// A call that is cancelled may take its message with it. After so long the
/// message has come, and it is only the next observation that has not.
static constexpr std::chrono::milliseconds TimeToTake(500);

/// Tags of the queue.
static char CallTag, WakeTag;

Expected<GrpcAddress> CompilerPlace::find() const {
  if (File.empty())
    return Address;
  Expected<std::string> Text = Announcement::read(File);
  if (!Text)
    return Text.status();
  Expected<RunnerString> R = RunnerString::parse(*Text);
  if (!R || R->scheme() != "grpc")
    return Status::error(StatusCode::Io,
                         "announce=" + File + ": not an address of grpc:");
  return GrpcAddress::parse(*R, R->target());
}

CompilerLine::CompilerLine(CompilerPlace To)
    : Where(std::move(To)), Wait(ShortestWait) {
  Thread = threadWithoutSignals([this] { run(); });
}

CompilerLine::~CompilerLine() {
  {
    std::unique_lock<std::mutex> Lock(Using);
    Ended.wait_until(Lock, TakenBy.end(), [this] { return !Now; });
    Stopped = true;
    if (Now)
      Now->Context.TryCancel();
    Wake.Cancel();
  }
  Queue.Shutdown();
  if (Thread.joinable())
    Thread.join();
}

/// Using is held, as in all that follow.
void CompilerLine::finish(Outcome O) {
  Done = std::move(O);
  Came.set();
}

/// Nobody would notice what comes of a call.
bool CompilerLine::hasThread() {
  if (!Thread.joinable())
    finish({grpc::Status::CANCELLED, {}, noThread("role=client")});
  return Thread.joinable();
}

void CompilerLine::start(const grpc::ByteBuffer &Action) {
  if (Stopped)
    return;
  Now = std::make_unique<Call>();
  Where.By.sign(Now->Context);
  grpc::GenericStub Stub(Over);
  Now->Reader =
      Stub.PrepareUnaryCall(&Now->Context, ObservationMethod, Action, &Queue);
  Now->Reader->StartCall();
  Now->Reader->Finish(&Now->O.Came, &Now->O.How, &CallTag);
}

/// Tries again in a while.
void CompilerLine::pause() {
  if (Stopped)
    return;
  Wake.Set(&Queue, grpcTime(Deadline::in(Wait)), &WakeTag);
  Wait = std::min(2 * Wait, LongestWait);
}

void CompilerLine::tryToBegin() {
  if (!Over) {
    Expected<GrpcAddress> To = Where.find();
    if (!To && To.status().code() == StatusCode::Unavailable && Persists)
      return pause();
    if (!To)
      return finish({grpc::Status::CANCELLED, {}, To.status()});
    Over = makeChannel(*To, Where.By, Where.MaxMessage);
  }
  grpc::Slice Nothing;
  start(grpc::ByteBuffer(&Nothing, 1));
}

void CompilerLine::begin(bool Once) {
  std::lock_guard<std::mutex> Lock(Using);
  Persists = !Once;
  if (hasThread())
    tryToBegin();
}

void CompilerLine::beginLater() {
  std::lock_guard<std::mutex> Lock(Using);
  Persists = true;
  if (hasThread())
    pause();
}

void CompilerLine::calm() {
  std::lock_guard<std::mutex> Lock(Using);
  Wait = ShortestWait;
}

void CompilerLine::act(const grpc::ByteBuffer &Action) {
  std::lock_guard<std::mutex> Lock(Using);
  Persists = false;
  TakenBy = Deadline::in(TimeToTake);
  start(Action);
}

/// A call is over.
void CompilerLine::called() {
  std::unique_ptr<Call> Was = std::move(Now);
  TakenBy = Deadline::past();
  Ended.notify_all();
  auto Code = Was->O.How.error_code();
  bool IsGone = Code == grpc::StatusCode::UNAVAILABLE ||
                Code == grpc::StatusCode::CANCELLED;
  // The next try is one at once, and maybe at another address.
  if (IsGone)
    Over.reset();
  if (Persists && (IsGone || Code == grpc::StatusCode::ABORTED))
    return pause();
  finish(std::move(Was->O));
}

void CompilerLine::run() {
  void *Tag;
  bool Ok;
  while (Queue.Next(&Tag, &Ok)) {
    std::lock_guard<std::mutex> Lock(Using);
    if (Tag == &CallTag)
      called();
    else if (!Stopped)
      tryToBegin();
  }
}

std::optional<CompilerLine::Outcome> CompilerLine::take() {
  std::lock_guard<std::mutex> Lock(Using);
  if (Done)
    Came.reset();
  return std::exchange(Done, std::nullopt);
}

void CompilerLine::putBack(Outcome O) {
  std::lock_guard<std::mutex> Lock(Using);
  finish(std::move(O));
}

bool CompilerLine::broken() {
  std::lock_guard<std::mutex> Lock(Using);
  if (!Over || Now)
    return false;
  grpc_connectivity_state State = Over->GetState(/*try_to_connect=*/false);
  return State != GRPC_CHANNEL_READY && State != GRPC_CHANNEL_CONNECTING;
}

bool CompilerLine::readable() {
  std::lock_guard<std::mutex> Lock(Using);
  return Done.has_value();
}

} // namespace cbridge
