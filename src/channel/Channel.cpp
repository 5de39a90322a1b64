//===- Channel.cpp - Carries frames between two processes -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/Channel.h"

namespace cbridge {

Awaited::~Awaited() = default;
void Awaited::endWait(bool) {}

Expected<TensorStorage> Channel::makeTensors(std::vector<TensorSpec> Specs) {
  TensorStorage Made(std::move(Specs));
  if (Status S = Made.status(); !S)
    return S;
  return Made;
}

void Channel::lendPayloads() {}
bool Channel::gone() { return false; }
void Channel::abandon(Deadline) {}

std::string Listener::address() const { return ""; }

Expected<DecisionLimits> DecisionLimits::parse(const RunnerString &R) {
  DecisionLimits L;
  Expected<std::chrono::nanoseconds> Timeout = R.duration("timeout", L.Timeout);
  if (!Timeout)
    return Timeout.status();
  if (*Timeout <= std::chrono::nanoseconds::zero())
    return R.errorAt("timeout", "a decision needs more than no time");
  Expected<size_t> MaxMessage = R.byteSize("max_message", L.MaxMessage);
  if (!MaxMessage)
    return MaxMessage.status();
  L.Timeout = *Timeout;
  L.MaxMessage = *MaxMessage;
  return L;
}

} // namespace cbridge
