//===- InlineLog.cpp - Decisions to and from compiles ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineLog.h"

#include "os/Folder.h"

#include <cbridge/RunnerString.h>
#include <cbridge/TrainingLog.h>

#include <cmath>
#include <cstring>

namespace cbridge::driver {

const char InlineLogFeatures[] = "inlining_default,caller_name,callee_name";

namespace {

constexpr char Caller[] = "caller_name", Callee[] = "callee_name",
               Default[] = "inlining_default", Decision[] = "inlining_decision",
               Score[] = "inlining_score";

/// Of the calls of a pair.
struct Votes {
  size_t Calls = 0, Inlined = 0, Default = 0;
  std::optional<float> Score;
};

using AllVotes = std::map<CallPair, Votes>;

Status incomplete(const LogReader &Log) {
  return Status::error(StatusCode::Protocol,
                       Log.path() + ": has no names of functions");
}

Status count(LogReader Log, AllVotes &Votes, std::string &Context) {
  const Signature &Sig = Log.signature();
  std::optional<size_t> From = Sig.inputIndex(Caller),
                        To = Sig.inputIndex(Callee),
                        Usual = Sig.inputIndex(Default),
                        Made = Sig.outputIndex(Decision),
                        Sure = Sig.outputIndex(Score);
  if (!From || !To || !Usual || !Made)
    return incomplete(Log);
  for (;;) {
    Expected<const LogRecord *> R = Log.next();
    if (!R)
      return R.status();
    if (!*R)
      return Status();
    const LogRecord &Each = **R;
    if (Context.empty())
      Context = Each.Context;
    auto &Of = Votes[{std::string(Each.Features[*From].string(0)),
                      std::string(Each.Features[*To].string(0))}];
    ++Of.Calls;
    Of.Inlined += Each.Decision[*Made].as<int64_t>()[0] != 0;
    Of.Default += Each.Features[*Usual].as<int64_t>()[0] != 0;
    if (!Sure)
      continue;
    float Value = Each.Decision[*Sure].as<float>()[0];
    if (!std::isnan(Value) &&
        (!Of.Score || std::fabs(Value) < std::fabs(*Of.Score)))
      Of.Score = Value;
  }
}

} // namespace

Expected<InlineLog> InlineLog::read(const std::string &Folder) {
  InlineLog Found;
  if (!os::isFolder(Folder)) // nobody was asked
    return Found;
  Expected<std::vector<std::string>> Files = findLogs(Folder);
  if (!Files)
    return Files.status();
  AllVotes Votes;
  for (const std::string &File : *Files) {
    Expected<LogReader> Log = LogReader::open(File);
    if (!Log && Log.status().code() == StatusCode::Unavailable)
      continue;
    if (!Log)
      return Log.status();
    if (Status S = count(std::move(*Log), Votes, Found.Context); !S)
      return S;
  }
  for (const auto &[Pair, Of] : Votes)
    Found.Decisions[Pair] = {2 * Of.Inlined >= Of.Calls,
                             2 * Of.Default >= Of.Calls, Of.Score};
  return Found;
}

std::string recording(const std::string &Runner, const std::string &Folder) {
  bool HasOptions = Runner.find('?') != Runner.npos;
  return Runner + (HasOptions ? "&" : "?") +
         "record=" + RunnerString::escape(Folder) + "/";
}

Expected<std::string> replaying(const std::string &File,
                                const std::string &Context,
                                const InlineClimb::Way &Decisions) {
  std::vector<TensorSpec> Names = {
      TensorSpec(Caller, ElementType::String, {1}),
      TensorSpec(Callee, ElementType::String, {1})};
  std::vector<TensorSpec> Outputs = {
      TensorSpec(Decision, ElementType::Int64, {1})};
  Expected<LogWriter> Log = LogWriter::open(File, Signature(Names, Outputs));
  if (!Log)
    return Log.status();
  TensorStorage Inputs(Names), Made(Outputs);
  constexpr int64_t One[] = {1};
  for (const auto &[Pair, Inlined] : Decisions) {
    std::string_view Texts[] = {Pair.first, Pair.second};
    for (size_t I : {0, 1})
      if (Status S = Inputs.setStrings(I, {&Texts[I], 1}, One); !S)
        return S;
    int64_t Value = Inlined;
    std::memcpy(Made.bytes(0).data(), &Value, sizeof(Value));
    if (Status S = Log->observe(Context, Inputs.views(), Made.views()); !S)
      return S;
  }
  if (Status S = Log->finish(); !S)
    return S;
  return "replay:" + RunnerString::escape(File) + "?key=" + Caller + "," +
         Callee;
}

} // namespace cbridge::driver
