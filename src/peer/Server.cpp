//===- Server.cpp - Serves the compilers of all addresses -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "peer/Server.h"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace cbridge {

/// While memory alone keeps us busy, files are looked at this often; the time
/// is asked for with every so many answers.
static constexpr std::chrono::milliseconds FilesEvery(1);
static constexpr unsigned TimeEvery = 8;
/// Whether compilers that wait for a reply are still there is looked at this
/// often.
static constexpr std::chrono::milliseconds GoneEvery(100);

Status Peer::Server::noRequest() const {
  std::string Where = Addresses[0];
  if (Addresses.size() > 1)
    Where += " and " + std::to_string(Addresses.size() - 1) + " more";
  return Status::error(StatusCode::Timeout,
                       Sessions.empty()
                           ? "no compiler at " + Where
                           : "no question from the compilers at " + Where);
}

Status Peer::Server::listen(const std::string &Text, int Lifeline) {
  Expected<RunnerString> Parsed = RunnerString::parse(Text);
  if (!Parsed)
    return Parsed.status();
  Expected<const ChannelScheme *> Scheme = findChannelScheme(Parsed->scheme());
  if (!Scheme && Scheme.status().code() != StatusCode::InvalidArgument)
    return Scheme.status();
  if (!Scheme) {
    std::string Known;
    for (const ChannelScheme &Each : channelSchemes())
      Known += " " + std::string(Each.Name) + ":";
    return Parsed->errorAtScheme("a peer cannot serve '" + Parsed->scheme() +
                                 ":'; it can serve" + Known + ", and " +
                                 Scheme.status().message());
  }
  if (Parsed->hasOptions() && (*Scheme)->ListenKeys.empty())
    return Parsed->errorAtTarget(
        "an address to serve takes no options: the compiler chooses");
  if (Status S = Parsed->checkKeys((*Scheme)->ListenKeys); !S)
    return S;
  ChannelOptions Channel;
  Channel.MaxMessage = Options.MaxMessage;
  Channel.Lifeline = Lifeline;
  Expected<std::unique_ptr<Listener>> L = (*Scheme)->Listen(*Parsed, Channel);
  if (!L)
    return L.status();
  Sites.push_back({std::move(*L), (*Scheme)->ManySessions});
  std::string Chosen = Sites.back().Waiting->address();
  Addresses.push_back(Chosen.empty() ? Text : Chosen);
  return Status();
}

Expected<std::unique_ptr<Peer::Server>>
Peer::Server::open(Span<const std::string> Addresses, PeerOptions Options) {
  const char *Given = ::getenv("CBRIDGE_PEER");
  std::unique_ptr<Server> Made(new Server(std::move(Options)));
  for (const std::string &Address : Addresses) {
    if (Address.empty() && !Given)
      return Status::error(StatusCode::InvalidArgument,
                           "no address: CBRIDGE_PEER is set only in a peer "
                           "that a runner starts");
    // A runner that starts a peer keeps the other end of its standard input.
    bool Spawned = Given && (Address.empty() || Address == Given);
    if (Spawned) {
      Made->Lifeline = STDIN_FILENO;
      if (!Made->Options.Sessions)
        Made->Options.Sessions = 1;
    }
    if (Status S = Made->listen(Spawned ? Given : Address,
                                Spawned ? STDIN_FILENO : -1);
        !S)
      return S;
  }
  return Made;
}

void Peer::Server::push(Answer A) {
  if (A)
    Found.push(std::move(A));
}

/// Whether a session may begin there now.
bool Peer::Server::accepts(const Site &At) const {
  return (At.ManySessions || At.Live == 0) &&
         (!Options.Sessions || Begun < Options.Sessions);
}

/// Takes what has come in a session; all of it, if nobody has to reply.
void Peer::Server::collect(Session &S) {
  while (S.With.channel() && !S.With.awaitsReply() &&
         S.With.channel()->ready()) {
    Expected<Answer> A = S.With.fetch(Deadline::past());
    if (!A)
      return;
    push(std::move(*A));
  }
}

void Peer::Server::removeFinished() {
  for (size_t I = 0; I < Sessions.size();) {
    Session &S = *Sessions[I];
    if (S.With.overdue())
      S.With.breakOff(
          Status::error(StatusCode::Timeout, "a compiler that says no hello"));
    if (S.With.channel()) {
      ++I;
      continue;
    }
    while (Answer End = S.With.nextEnd())
      push(std::move(End));
    --Sites[S.Site].Live;
    Sessions.erase(Sessions.begin() + ptrdiff_t(I));
  }
}

/// Ends the sessions of those who have left while the policy has their
/// question, which no file would tell. Whether there are any that may.
bool Peer::Server::noticeGone() {
  bool Waiting = false, Due = LookForGone.passed();
  for (auto &S : Sessions) {
    if (!S->With.awaitsReply())
      continue;
    Waiting = true;
    if (Due && S->With.channel()->gone())
      S->With.breakOff(
          Status::error(StatusCode::PeerClosed,
                        S->With.channel()->name() + " closed the connection"));
  }
  if (Due) {
    LookForGone = Deadline::in(GoneEvery);
    removeFinished();
  }
  return Waiting;
}

bool Peer::Server::lookAtMemory() {
  size_t Count = Sessions.size();
  // A remainder would cost as much as to look at a session.
  size_t First = Next < Count ? Next : 0;
  for (size_t I = First; I < Count; ++I)
    collect(*Sessions[I]);
  for (size_t I = 0; I < First; ++I)
    collect(*Sessions[I]);
  Next = First + 1;
  removeFinished();
  return !Found.empty();
}

Status Peer::Server::accept(Site &At, size_t Index) {
  // They may come faster than we accept: those that are here have their turn.
  for (int Most = 16; Most && accepts(At); --Most) {
    Expected<std::unique_ptr<Channel>> Came =
        At.Waiting->accept(Deadline::past());
    if (!Came)
      return Came.status().code() == StatusCode::Timeout ? Status()
                                                         : Came.status();
    ++At.Live;
    Sessions.push_back(
        std::make_unique<Session>(++Begun, Index, std::move(*Came), Options));
    // It has begun with something to say.
    if (Expected<Answer> A = Sessions.back()->With.fetch(Deadline::past()))
      push(std::move(*A));
  }
  return Status();
}

/// Sleeps until a file wakes us or a session's memory has something.
Status Peer::Server::lookAtFiles(Deadline Until) {
  if (noticeGone())
    Until = Until & LookForGone;
  Files.clear();
  bool Sleep = Found.empty();
  auto Begin = [&](Awaited &What, size_t &First, size_t &Last) {
    First = Files.size();
    Sleep &= What.beginWait(Files);
    Last = Files.size();
  };
  for (auto &S : Sessions) {
    S->FirstFile = S->LastFile = 0;
    if (!S->With.awaitsReply())
      Begin(*S->With.channel(), S->FirstFile, S->LastFile);
  }
  std::vector<std::pair<size_t, size_t>> &Of = SiteFiles;
  Of.assign(Sites.size(), {0, 0});
  for (size_t I = 0; I < Sites.size(); ++I)
    if (accepts(Sites[I]))
      Begin(*Sites[I].Waiting, Of[I].first, Of[I].second);
  size_t Cancel = Files.size();
  if (Lifeline >= 0)
    Files.add(Lifeline);
  bool Woken = Files.wait(Sleep ? Until : Deadline::past());
  for (auto &S : Sessions) {
    if (S->With.awaitsReply())
      continue;
    bool Spoke = Woken && Files.woken(S->FirstFile, S->LastFile);
    S->With.channel()->endWait(Spoke);
  }
  for (size_t I = 0; I < Sessions.size(); ++I) {
    Session &S = *Sessions[I];
    if (Woken && !S.With.awaitsReply() && Files.woken(S.FirstFile, S.LastFile))
      if (Expected<Answer> A = S.With.fetch(Deadline::past()))
        push(std::move(*A));
  }
  for (size_t I = 0; I < Sites.size(); ++I)
    if (Woken && Files.woken(Of[I].first, Of[I].second))
      if (Status S = accept(Sites[I], I); !S)
        return S;
  LookAgain = Deadline::in(FilesEvery);
  // What a session has sent before its compiler died still counts.
  if (Woken && Lifeline >= 0 && Files.woken(Cancel, Cancel + 1)) {
    lookAtMemory();
    if (Found.empty() && Sessions.empty())
      return Status::error(StatusCode::PeerClosed,
                           "the compiler that started this peer is gone");
  }
  return Status();
}

/// The session, if there can be no other.
Conversation *Peer::Server::onlyOne() {
  bool Only = Sites.size() == 1 && !Sites[0].ManySessions &&
              Sessions.size() == 1 && !Sessions[0]->With.awaitsReply();
  return Only ? &Sessions[0]->With : nullptr;
}

bool Peer::Server::someAreReady() const {
  for (const auto &S : Sessions)
    if (!S->With.awaitsReply() && S->With.channel() &&
        S->With.channel()->ready())
      return true;
  return false;
}

os::Spin Peer::Server::howToSpin() const {
  os::Spin How = os::Spin::Not;
  for (const auto &S : Sessions)
    if (!S->With.awaitsReply() && S->With.channel())
      How = std::max(How, S->With.channel()->spinning());
  return How;
}

bool Peer::Server::comesSoon(std::chrono::nanoseconds Within) {
  if (!Found.empty())
    return true;
  // Spinning would only keep the compiler from its core.
  if (howToSpin() != os::Spin::Look)
    return someAreReady();
  Deadline Until = Deadline::in(Within);
  do {
    for (int Looks = 0; Looks < 16; ++Looks) {
      if (someAreReady())
        return true;
      os::relax();
    }
  } while (!Until.passed());
  return false;
}

bool Peer::Server::waitsForMore() const {
  for (const auto &S : Sessions)
    if (!S->With.awaitsReply())
      return true;
  return false;
}

/// Waits until something has been found.
Status Peer::Server::wait(Deadline Until) {
  for (;;) {
    if (lookAtMemory()) {
      if (++Answers % TimeEvery == 0 && LookAgain.passed())
        return lookAtFiles(Deadline::past());
      return Status();
    }
    if (Options.Sessions && Begun >= Options.Sessions && Sessions.empty())
      return Status::error(StatusCode::PeerClosed,
                           "all sessions have been served");
    if (Conversation *One = onlyOne()) {
      Expected<Answer> A = One->fetch(Until);
      if (!A)
        return A.status();
      push(std::move(*A));
    } else {
      bool Came =
          !LookAgain.passed() &&
          Spinning.spin(howToSpin(), Until, [this] { return someAreReady(); });
      if (!Came)
        if (Status S = lookAtFiles(Until); !S)
          return S;
    }
    // A compiler may send what needs no answer for longer than we have time.
    if (Until.passed() && Found.empty() && !lookAtMemory())
      return noRequest();
  }
}

/// The oldest that there is, or null. A compiler that has left meanwhile has
/// taken its question along: the end of its episode follows.
Peer::Server::Answer Peer::Server::take() {
  while (!Found.empty())
    if (Answer A = Found.pop(); A->done() || asker(*A))
      return A;
  return nullptr;
}

Expected<Peer::Server::Answer> Peer::Server::next(Deadline Until) {
  if (latestAsker())
    return Status::error(StatusCode::InvalidArgument,
                         "reply to the latest request first");
  if (Found.empty())
    if (Status S = wait(Until); !S)
      return S;
  Answer A = take();
  if (!A)
    return noRequest();
  Latest = A->done() ? nullptr : A.get();
  LatestSerial = A->serial();
  return A;
}

Status
Peer::Server::nextBatch(Deadline Until, size_t Most,
                        std::vector<std::shared_ptr<const Request>> &To) {
  if (Found.empty())
    if (Status S = wait(Until); !S)
      return S;
  // Others may have come meanwhile, some of which only the kernel knows.
  lookAtMemory();
  for (const auto &S : Sessions)
    if (!S->With.awaitsReply() &&
        S->With.channel()->spinning() == os::Spin::Not) {
      if (Status Failed = lookAtFiles(Deadline::past()); !Failed)
        return Failed;
      break;
    }
  size_t Before = To.size();
  while (!Most || To.size() - Before < Most) {
    Answer A = take();
    if (!A)
      break;
    To.push_back(std::move(A));
  }
  return To.size() == Before ? noRequest() : Status();
}

void Peer::Server::failAll(std::string_view Why) {
  lookAtMemory();
  // Whatever is wrong with the files, those who wait are told.
  (void)lookAtFiles(Deadline::past());
  for (auto &S : Sessions)
    if (S->With.awaitsReply())
      (void)S->With.fail(Why);
  Found.dropQuestions();
  Latest = nullptr;
}

Conversation *Peer::Server::asker(const Question *Q, uint64_t Serial) {
  for (auto &S : Sessions)
    if (S->With.serial() == Serial)
      return S->With.isOpen(Q) ? &S->With : nullptr;
  return nullptr;
}

} // namespace cbridge
