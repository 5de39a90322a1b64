//===- Peer.cpp - The model's end of a channel ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Peer.h>

#include "peer/Server.h"

namespace cbridge {

Request::~Request() = default;

Expected<Peer> Peer::open(std::string_view Address, PeerOptions Options) {
  std::string Only(Address);
  return open(Span<const std::string>(&Only, 1), std::move(Options));
}

Expected<Peer> Peer::open(Span<const std::string> Addresses,
                          PeerOptions Options) {
  Expected<std::unique_ptr<Server>> Made =
      Server::open(Addresses, std::move(Options));
  if (!Made)
    return Made.status();
  return Peer(std::move(*Made));
}

Peer::Peer(std::unique_ptr<Server> S) : S(std::move(S)) {}
Peer::Peer(Peer &&) noexcept = default;
Peer &Peer::operator=(Peer &&) noexcept = default;
Peer::~Peer() = default;

Expected<std::shared_ptr<const Request>> Peer::next(Deadline Until) {
  Expected<Server::Answer> A = S->next(Until);
  if (!A)
    return A.status();
  return std::shared_ptr<const Request>(std::move(*A));
}

Status Peer::nextBatch(Deadline Until,
                       std::vector<std::shared_ptr<const Request>> &To,
                       size_t Most) {
  return S->nextBatch(Until, Most, To);
}

bool Peer::comesSoon(std::chrono::nanoseconds Within) {
  return S->comesSoon(Within);
}

bool Peer::waitsForMore() const { return S->waitsForMore(); }

bool Peer::awaitsReply() const { return S->latestAsker() != nullptr; }

TensorStorage &Peer::decision() {
  Conversation *With = S->latestAsker();
  assert(With && "no question is open");
  return With->decision();
}

Status Peer::reply(Deadline Until) {
  Conversation *With = S->answeringLatest();
  return With ? With->reply(Until) : Status();
}

Status Peer::fail(std::string_view Why) {
  Conversation *With = S->answeringLatest();
  return With ? With->fail(Why) : Status();
}

bool Peer::awaitsReply(const Request &R) const {
  return S->asker(static_cast<const Question &>(R)) != nullptr;
}

TensorStorage &Peer::decision(const Request &R) {
  Conversation *With = S->asker(static_cast<const Question &>(R));
  assert(With && "the question is not open");
  return With->decision();
}

Status Peer::reply(const Request &R, Deadline Until) {
  Conversation *With = S->answering(static_cast<const Question &>(R));
  return With ? With->reply(Until) : Status();
}

Status Peer::fail(const Request &R, std::string_view Why) {
  Conversation *With = S->answering(static_cast<const Question &>(R));
  return With ? With->fail(Why) : Status();
}

void Peer::failAll(std::string_view Why) { S->failAll(Why); }

const std::string &Peer::address() const { return S->Addresses[0]; }

const std::vector<std::string> &Peer::addresses() const { return S->Addresses; }

} // namespace cbridge
