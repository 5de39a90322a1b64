//===- Recorder.cpp - Decisions on their way to a log ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runner/Recorder.h"

#include "os/File.h"
#include "os/Folder.h"

namespace cbridge {

Expected<std::shared_ptr<Recording>> Recording::open(std::string Folder,
                                                     Sink OnFailure) {
  while (Folder.size() > 1 && Folder.back() == '/')
    Folder.pop_back();
  if (Status S = os::makeFolder(Folder); !S)
    return Status::error(S.code(), "cannot record to " + S.message());
  auto Made = std::make_shared<Recording>();
  Made->Folder = std::move(Folder);
  Made->OnFailure = std::move(OnFailure);
  Made->Random = os::randomId();
  return Made;
}

std::string Recording::path(uint32_t Runner) const {
  static constexpr char Hex[] = "0123456789abcdef";
  std::string Id;
  for (int Shift = 60; Shift >= 0; Shift -= 4)
    Id += Hex[(Random >> Shift) & 15];
  return Folder + "/" + std::to_string(os::processId()) + "-" + Id + "-" +
         std::to_string(Runner) + ".log";
}

std::atomic<uint64_t> *Recording::counter(std::string_view Context) {
  std::lock_guard<std::mutex> Lock(Mutex);
  auto Found = Counters.find(Context);
  if (Found == Counters.end())
    Found = Counters.try_emplace(std::string(Context), 0).first;
  return &Found->second;
}

Recorder::Recorder(std::shared_ptr<Recording> To, const Signature &Sig)
    : Into(std::move(To)), Sig(Sig), Runner(Into->newRunner()),
      Features(Sig.inputs().size()), Outputs(Sig.outputs().size()),
      Extents(Sig.inputs().size()) {
  for (size_t I = 0; I < Features.size(); ++I) {
    const TensorSpec &Spec = Sig.inputs()[I];
    for (size_t D = 0; D < Spec.shape().size(); ++D)
      Extents[I][D] = Spec.shape()[D] == Dynamic ? 0 : Spec.shape()[D];
    Features[I] = {&Spec, {Extents[I].data(), Spec.shape().size()}, {}};
  }
  std::vector<TensorSpec> Kept;
  for (const TensorSpec &Spec : Sig.inputs()) {
    StringPlaces.push_back(Kept.size());
    if (Spec.isString())
      Kept.push_back(Spec);
  }
  if (!Kept.empty())
    Strings.emplace(std::move(Kept));
}

void Recorder::resized(size_t I, Span<const int64_t> Shape) {
  for (size_t D = 0; D < Shape.size(); ++D)
    Extents[I][D] = Shape[D];
}

void Recorder::setStrings(size_t I, Span<const std::string_view> Values,
                          Span<const int64_t> Shape) {
  if (!Stopped)
    check(Strings->setStrings(StringPlaces[I], Values, Shape));
}

void Recorder::begin(std::string_view Of) {
  if (Stopped)
    return;
  if (!Counter || Context != Of) {
    Context = Of;
    Counter = Into->counter(Of);
  }
  Ordinal = Counter->fetch_add(1, std::memory_order_relaxed);
  Announced = true;
  Rewardable = false; // until it is recorded
}

void Recorder::record(Engine &E) {
  for (size_t O = 0; O < Outputs.size(); ++O)
    Outputs[O] = E.output(O);
  record(E, Outputs);
}

void Recorder::record(Engine &E, Span<const TensorView> Decision) {
  if (!std::exchange(Announced, false) || !openLog())
    return;
  for (size_t I = 0; I < Features.size(); ++I)
    Features[I].Data = Features[I].Spec->isString()
                           ? Strings->view(StringPlaces[I]).Data
                           : Bytes(E.input(I));
  Status S = Log->observe(Context, Ordinal, Features, Decision);
  Rewardable = S.ok();
  // The writer names its file when the file is to blame.
  bool OfFile =
      S.code() == StatusCode::Io || S.code() == StatusCode::OutOfMemory;
  check(S.ok() || OfFile
            ? S
            : S.withContext("recording to " + Log->path() + " stopped"));
}

void Recorder::reward(double Value) {
  if (!std::exchange(Rewardable, false) || LogOwner != os::processMark())
    return;
  check(Log->reward(Value));
}

void Recorder::settle() {
  Rewardable = false;
  if (Log && LogOwner == os::processMark())
    check(Log->finish());
}

/// A forked child starts a log of its own.
bool Recorder::openLog() {
  if (Stopped)
    return false;
  if (Log && LogOwner == os::processMark())
    return true;
  Log.reset();
  Expected<LogWriter> Made =
      LogWriter::open(Into->path(Runner), Sig, LogWriter::Refuse);
  if (!Made) {
    check(Status::error(Made.status().code(),
                        "cannot record to " + Made.status().message()));
    return false;
  }
  Log.emplace(std::move(*Made));
  LogOwner = os::processMark();
  return true;
}

void Recorder::check(const Status &S) {
  if (S.ok())
    return;
  Stopped = true;
  Log.reset();
  Into->tell(S);
}

} // namespace cbridge
