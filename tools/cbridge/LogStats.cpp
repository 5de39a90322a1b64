//===- LogStats.cpp - cbridge log stats -----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "core/Json.h"
#include "log/TensorText.h"

#include <cbridge/Number.h>
#include <cbridge/TrainingLog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

namespace cbridge::tool {

namespace {

/// Minimum, mean and maximum of what is a number.
struct Summary {
  uint64_t Count = 0;
  double Min = std::numeric_limits<double>::infinity();
  double Max = -std::numeric_limits<double>::infinity();
  double Mean = 0;

  void add(double Value) {
    if (std::isnan(Value))
      return;
    ++Count;
    Min = std::min(Min, Value);
    Max = std::max(Max, Value);
    Mean += (Value - Mean) / double(Count);
  }
};

/// Of one feature, or one part of the decision.
struct TensorStats {
  std::string Type;
  Summary Values;
  std::map<std::string, uint64_t> Distribution; // of decisions
};

struct Stats {
  uint64_t Files = 0, Decisions = 0;
  std::set<std::string, std::less<>> Contexts;
  std::vector<std::string> Cut;
  std::vector<std::pair<std::string, TensorStats>> Features, Outputs;
  Summary Rewards;

  Status add(const std::string &Path);
};

TensorStats &named(std::vector<std::pair<std::string, TensorStats>> &In,
                   const TensorSpec &Spec) {
  for (auto &[Name, Each] : In)
    if (Name == Spec.name())
      return Each;
  In.emplace_back(Spec.name(), TensorStats());
  In.back().second.Type = Spec.typeAndShape();
  return In.back().second;
}

void add(TensorStats &To, const TensorView &V) {
  size_t Size = sizeOf(V.Spec->type());
  for (size_t At = 0; Size && At < V.Data.size(); At += Size)
    To.Values.add(Number::load(V.Spec->type(), V.Data.data() + At).real());
}

Status Stats::add(const std::string &Path) {
  ++Files;
  Expected<LogReader> Log = LogReader::open(Path);
  if (!Log && Log.status().code() == StatusCode::Unavailable) {
    Cut.push_back(Path);
    return Status();
  }
  if (!Log)
    return Log.status();
  for (;;) {
    Expected<const LogRecord *> R = Log->next();
    if (!R)
      return R.status();
    if (!*R)
      break;
    ++Decisions;
    if (Contexts.find((*R)->Context) == Contexts.end())
      Contexts.emplace((*R)->Context);
    for (const TensorView &V : (*R)->Features)
      tool::add(named(Features, *V.Spec), V);
    for (const TensorView &V : (*R)->Decision) {
      TensorStats &To = named(Outputs, *V.Spec);
      tool::add(To, V);
      ++To.Distribution[tensorText(V)];
    }
    if ((*R)->Reward)
      Rewards.add(*(*R)->Reward);
  }
  if (Log->cut())
    Cut.push_back(Path);
  return Status();
}

std::string numberText(double Value) {
  return std::isfinite(Value) ? Number(Value).toString() : "null";
}

void appendSummary(std::string &To, const Summary &S) {
  To += "\"count\":" + std::to_string(S.Count);
  if (S.Count)
    To += ",\"min\":" + numberText(S.Min) + ",\"mean\":" + numberText(S.Mean) +
          ",\"max\":" + numberText(S.Max);
}

void appendTensors(
    std::string &To,
    const std::vector<std::pair<std::string, TensorStats>> &Tensors) {
  To += "{";
  for (auto &[Name, Each] : Tensors) {
    To += To.back() == '{' ? "" : ",";
    appendJsonString(To, Name);
    To += ":{\"type\":";
    appendJsonString(To, Each.Type);
    To += ",";
    appendSummary(To, Each.Values);
    if (!Each.Distribution.empty()) {
      To += ",\"distribution\":{";
      for (auto &[Value, Count] : Each.Distribution) {
        To += To.back() == '{' ? "" : ",";
        appendJsonString(To, Value);
        To += ":" + std::to_string(Count);
      }
      To += "}";
    }
    To += "}";
  }
  To += "}";
}

void printJson(const Stats &S) {
  std::string Text = "{\"files\":" + std::to_string(S.Files) +
                     ",\"contexts\":" + std::to_string(S.Contexts.size()) +
                     ",\"decisions\":" + std::to_string(S.Decisions) +
                     ",\"cut\":[";
  for (const std::string &Path : S.Cut) {
    Text += Text.back() == '[' ? "" : ",";
    appendJsonString(Text, Path);
  }
  Text += "],\"features\":";
  appendTensors(Text, S.Features);
  Text += ",\"decision\":";
  appendTensors(Text, S.Outputs);
  Text += ",\"rewards\":{";
  appendSummary(Text, S.Rewards);
  std::printf("%s}}\n", Text.c_str());
}

std::string summaryText(const Summary &S) {
  if (!S.Count)
    return "no numbers";
  auto Text = [](double Value) {
    std::array<char, 32> Digits;
    std::snprintf(Digits.data(), Digits.size(), "%.6g", Value);
    return std::string(Digits.data());
  };
  return "min " + Text(S.Min) + ", mean " + Text(S.Mean) + ", max " +
         Text(S.Max);
}

void printText(const Stats &S) {
  std::printf("%llu decisions in %zu contexts, %llu files\n",
              static_cast<unsigned long long>(S.Decisions), S.Contexts.size(),
              static_cast<unsigned long long>(S.Files));
  for (const std::string &Path : S.Cut)
    std::printf("cut off: %s\n", Path.c_str());
  std::printf("features\n");
  for (auto &[Name, Each] : S.Features)
    std::printf("  %s %s: %s\n", Name.c_str(), Each.Type.c_str(),
                summaryText(Each.Values).c_str());
  for (auto &[Name, Each] : S.Outputs) {
    std::printf("decision %s %s: %s\n", Name.c_str(), Each.Type.c_str(),
                summaryText(Each.Values).c_str());
    std::vector<std::pair<uint64_t, std::string>> Often;
    for (auto &[Value, Count] : Each.Distribution)
      Often.emplace_back(Count, Value);
    std::sort(Often.begin(), Often.end(), [](auto &A, auto &B) {
      return A.first != B.first ? A.first > B.first : A.second < B.second;
    });
    for (size_t I = 0; I < Often.size() && I < 10; ++I)
      std::printf("  %llu times %s\n",
                  static_cast<unsigned long long>(Often[I].first),
                  Often[I].second.c_str());
    if (Often.size() > 10)
      std::printf("  and %zu other values\n", Often.size() - 10);
  }
  if (!S.Rewards.Count)
    std::printf("no rewards\n");
  else
    std::printf("rewards of %llu decisions: %s\n",
                static_cast<unsigned long long>(S.Rewards.Count),
                summaryText(S.Rewards).c_str());
}

} // namespace

int logStats(Span<const std::string> Given) {
  Expected<Arguments> Parsed = Arguments::parse(Given, {{"--json", false}});
  if (!Parsed)
    return fail(Parsed.status());
  if (Parsed->Words.size() != 1)
    return fail("log stats takes one log or directory");
  Expected<std::vector<std::string>> Logs = findLogs(Parsed->Words[0]);
  if (!Logs)
    return fail(Logs.status());
  if (Logs->empty())
    return fail(Parsed->Words[0] + ": no file in it ends in .log");
  Stats S;
  for (const std::string &Path : *Logs)
    if (Status Added = S.add(Path); !Added)
      return fail(Added);
  if (Parsed->has("--json"))
    printJson(S);
  else
    printText(S);
  return Success;
}

} // namespace cbridge::tool
