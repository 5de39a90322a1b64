//===- PeerProcess.cpp - How a compiler gets to its peer ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerProcess.h"

#include <unistd.h>

namespace cbridge {

/// Where a peer serves in a directory that a runner made for it: once both are
/// gone, so is the directory.
static constexpr std::string_view OwnName = "/cbridge-spawned";

void removeOwnDirectory(const std::string &Target) {
  if (size_t Own = Target.rfind(OwnName);
      Own != Target.npos && Own + OwnName.size() == Target.size())
    ::rmdir(Target.substr(0, Own).c_str());
}

Status nobodyServes(const std::string &Address, const char *Why) {
  return Status::error(StatusCode::Unavailable,
                       "nobody serves " + Address + " (" + Why + ")");
}

PeerProcess::PeerProcess(PeerProcess &&Other) noexcept
    : Target(std::move(Other.Target)), Name(std::move(Other.Name)),
      Directory(std::exchange(Other.Directory, std::string())),
      Started(std::move(Other.Started)), Grace(Other.Grace),
      Owner(Other.Owner) {
  Other.Started.reset();
}

void PeerProcess::end() {
  if (Started)
    Started->end(Grace ? Grace->remaining() : std::chrono::seconds(2));
  Started.reset();
  // A forked copy of us leaves the directory alone.
  if (!Directory.empty() && Owner == ::getpid())
    os::removeDirectory(Directory);
  Directory.clear();
}

Expected<PeerProcess> PeerProcess::start(const RunnerString &Address) {
  PeerProcess P;
  P.Owner = ::getpid();
  P.Target = Address.target();
  P.Name = Address.scheme() + ":" + P.Target;
  std::vector<std::string> Arguments = Address.words("spawn");
  if (Address.has("spawn") && Arguments.empty())
    return Address.errorAt("spawn", "expected the program to start");
  if (Arguments.empty()) {
    if (P.Target.empty())
      return Address.errorAtTarget("expected where the peer serves");
    return P;
  }
  P.Name = "the peer '";
  for (const std::string &Word : Arguments)
    P.Name += (&Word == &Arguments[0] ? "" : " ") + Word;
  P.Name += "'";
  if (P.Target.empty()) {
    Expected<std::string> Made = os::makePrivateDirectory();
    if (!Made)
      return Made.status();
    P.Directory = std::move(*Made);
    P.Target = P.Directory + std::string(OwnName);
  }
  std::string Serve = Address.scheme() + ":" + RunnerString::escape(P.Target);
  for (std::string &A : Arguments)
    if (size_t At = A.find("{}"); At != A.npos)
      A.replace(At, 2, Serve);
  Expected<os::Process> Started =
      os::Process::spawn(Arguments, {"CBRIDGE_PEER=" + Serve});
  if (!Started)
    return Started.status();
  P.Started.emplace(std::move(*Started));
  return P;
}

Status PeerProcess::connect(const RunnerString &Address,
                            const ChannelOptions &Options, const Try &Once) {
  Expected<std::chrono::nanoseconds> Wait =
      Address.duration("connect", Options.Until.remaining());
  if (!Wait)
    return Wait.status();
  Deadline Until = Deadline::in(*Wait);
  os::Backoff Pause;
  for (;;) {
    Status Why;
    switch (Once(Why)) {
    case Attempt::Connected:
      return Status();
    case Attempt::Failed:
      return Why;
    case Attempt::Absent:
      if (!isOurs() && !Address.has("connect"))
        return Status::error(Why.code(),
                             Why.message() + "; connect=5s would wait for it");
      break;
    case Attempt::Taken:
      break;
    }
    if (Started)
      if (auto How = Started->exited())
        return Status::error(StatusCode::Unavailable,
                             Name + " ended before it served: " + *How);
    if (Pause.pause(Until))
      continue;
    auto Waited = std::chrono::duration_cast<std::chrono::milliseconds>(*Wait);
    return Status::error(StatusCode::Timeout,
                         (Started ? Name + " does not serve" : Why.message()) +
                             "; waited " + std::to_string(Waited.count()) +
                             " ms");
  }
}

} // namespace cbridge
