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
void Channel::abandon(Deadline) {}

std::string Listener::address() const { return ""; }

} // namespace cbridge
