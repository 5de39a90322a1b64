//===- BudgetRun.cpp - The smallest of several compiles -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BudgetRun.h"

#include "ClangProcess.h"
#include "EndProcesses.h"
#include "HostProcess.h"
#include "InlineLog.h"
#include "ObjectFile.h"
#include "PrivateFolder.h"
#include "Spool.h"

#include "os/FileSet.h"

#include <cstdlib>
#include <memory>

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

using Clock = Deadline::Clock;

constexpr char ModelVariable[] = "CBRIDGE_INLINE_MODEL",
               FeaturesVariable[] = "CBRIDGE_INLINE_FEATURES";

/// For clangs that have been told to end.
constexpr std::chrono::seconds Grace(10);
/// How long a way may take, beyond a multiple of what plain clang took: only a
/// model that never comes back takes so long.
constexpr std::chrono::minutes Patience(1);
constexpr int PatienceFactor = 20;

size_t coreCount() {
  cpu_set_t Ours;
  return ::sched_getaffinity(0, sizeof(Ours), &Ours) == 0
             ? size_t(CPU_COUNT(&Ours))
             : 1;
}

std::string variable(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value ? Value : "";
}

/// One compile; 0 is plain clang's, and 1 the model's.
struct Way {
  Way(size_t Index, CaughtSignals &Signals) : Index(Index), Clang(Signals) {}
  bool isPlain() const { return Index == 0; }

  const size_t Index;
  ClangProcess Clang;
  HeldOutput Out, Err;
  Clock::time_point Began = Clock::now();
  Deadline Until = Deadline::never();
  Status Kept;        ///< why what it prints could not be kept
  InlinedObject Made; ///< once it has ended
};

class Race {
public:
  Race(const BudgetRun &What, CaughtSignals &Signals, std::string Folder)
      : What(What), Signals(Signals), Folder(std::move(Folder)) {}

  /// Until all ways have ended, or there is no use in waiting for that.
  Status run();
  /// How plain clang ended.
  std::optional<int> PlainStatus;
  /// None, if no clang succeeded.
  std::unique_ptr<Way> Best;
  /// Why no model was a candidate; empty: one was.
  std::string note() const { return Candidates == 0 ? WhyNone : ""; }
  std::string object(size_t Way) const { return file(Way, ".o"); }

private:
  /// The file of a compile.
  std::string file(size_t Way, const char *Ending) const {
    return Folder + "/" + std::to_string(Way) + Ending;
  }
  bool climbs() const { return What.Ways > 2; }
  /// All of these, as many at a time as there are cores.
  void compile(const std::vector<std::string> &Runners);
  /// The model's decisions made better.
  void climb();
  /// All but the size of what these have made.
  void forget(size_t First);
  Status start(size_t Index, const std::string &Runner);
  void step();
  void stop(int Signal);
  void finish(std::unique_ptr<Way> W);
  /// Whether its object may be kept; else why not.
  Status judge(Way &W);
  /// Objects are good whether or not it is known what was decided.
  void readLog(Way &W);

  const BudgetRun &What;
  CaughtSignals &Signals;
  const std::string Folder;
  os::File NoInput;
  std::vector<std::unique_ptr<Way>> Running;
  std::vector<std::optional<InlinedObject>> Results; ///< of all; none: failed
  std::string Context;                 ///< by which the module is known
  std::chrono::nanoseconds Longest{0}; // 0: unknown
  bool Stopped = false;
  Status Failure;
  size_t Candidates = 0;
  std::string WhyNone;
};

Status Race::start(size_t Index, const std::string &Runner) {
  auto W = std::make_unique<Way>(Index, Signals);
  for (HeldOutput *Each : {&W->Out, &W->Err}) {
    Expected<HeldOutput> Made = HeldOutput::open(Folder);
    if (!Made)
      return Made.status();
    *Each = std::move(*Made);
  }
  ClangProcess::Place Here = {Folder, W->Out.Far.get(), W->Err.Far.get(),
                              NoInput.get()};
  if (!W->isPlain() && climbs()) {
    std::string Features = variable(FeaturesVariable);
    Features += (Features.empty() ? "" : ",") + std::string(InlineLogFeatures);
    Here.Variables = {{ModelVariable, recording(Runner, file(Index, ".log"))},
                      {FeaturesVariable, Features}};
  }
  if (Longest.count() != 0)
    W->Until = Deadline::in(Longest);
  Status S = W->Clang.start(
      What.Command.Words[0],
      W->isPlain() ? What.Command.plain(object(Index))
                   : What.Command.withOptions(object(Index), What.Options),
      &Here);
  W->Out.Far.close();
  W->Err.Far.close();
  if (S.ok())
    Running.push_back(std::move(W));
  return S;
}

void Race::stop(int Signal) {
  Stopped = true;
  for (const std::unique_ptr<Way> &W : Running) {
    W->Clang.send(Signal);
    W->Until = W->Until & Deadline::in(Grace);
  }
}

Status Race::judge(Way &W) {
  auto Failed = [&](const std::string &Why) {
    return Status::error(StatusCode::ModelError, Why);
  };
  const std::string Fault =
      "clang failed with inline model '" + What.Model + "'; compiled without";
  if (!W.Kept.ok())
    return W.Kept;
  if (W.Clang.waitStatus() != 0)
    return Failed(Fault);
  Expected<ObjectSizes> Sizes = ObjectSizes::ofFile(object(W.Index));
  if (!Sizes)
    return W.isPlain() ? Sizes.status() : Failed(Fault);
  W.Made.Bytes = Sizes->Loaded;
  W.Made.Functions = std::move(Sizes->Functions);
  if (W.isPlain())
    return Status();
  // The plugin tells so if the model did not decide all.
  std::string Told = W.Err.lineWith("cbridge: ", "; LLVM's own heuristic");
  if (Told.empty()) {
    readLog(W);
    return Status();
  }
  // As users know the model.
  const std::string Recorded = recording(What.Model, file(W.Index, ".log"));
  if (size_t At = Told.find(Recorded); climbs() && At != Told.npos)
    Told.replace(At, Recorded.size(), What.Model);
  return Failed(Told);
}

void Race::readLog(Way &W) {
  if (!climbs())
    return;
  Expected<InlineLog> Log = InlineLog::read(file(W.Index, ".log"));
  if (!Log)
    return;
  if (W.Index == 1)
    Context = Log->Context;
  W.Made.Decisions = std::move(Log->Decisions);
}

void Race::finish(std::unique_ptr<Way> W) {
  Status Why = judge(*W);
  ::unlink(file(W->Index, ".way").c_str());
  os::removeDirectory(file(W->Index, ".log"));
  if (W->isPlain()) {
    PlainStatus = W->Clang.waitStatus();
    Longest = toldAnswerTimeout().value_or(Patience) +
              PatienceFactor * (Clock::now() - W->Began);
    for (const std::unique_ptr<Way> &Other : Running)
      Other->Until = Other->Until & Deadline::in(Longest);
    if (!Why.ok())
      stop(SIGKILL);
    if (PlainStatus == 0 && Failure.ok())
      Failure = Why; // there is nothing to compare with
  } else if (Why.ok()) {
    ++Candidates;
  } else if (WhyNone.empty() || W->Index == 1) {
    WhyNone = Why.message();
  }
  if (!Why.ok()) {
    ::unlink(object(W->Index).c_str());
    return;
  }
  uint64_t Bytes = W->Made.Bytes;
  Results[W->Index] = std::move(W->Made);
  if (!Best || Bytes < Results[Best->Index]->Bytes ||
      (Bytes == Results[Best->Index]->Bytes && W->Index < Best->Index))
    std::swap(W, Best);
  if (W)
    ::unlink(object(W->Index).c_str());
}

/// Waits for something to happen.
void Race::step() {
  os::FileSet Files;
  Files.add(Signals.file());
  Deadline Until = Signals.nextStep();
  for (const std::unique_ptr<Way> &W : Running) {
    Until = Until & W->Until;
    for (HeldOutput *Each : {&W->Out, &W->Err})
      if (Each->file() >= 0)
        Files.add(Each->file());
  }
  Files.wait(Until);
  if (int Signal = Signals.take())
    stop(Signal);
  else if (Signals.received() && !Stopped)
    stop(0); // a terminal has told them
  std::vector<std::unique_ptr<Way>> Ended;
  for (size_t I = 0; I < Running.size();) {
    Way &W = *Running[I];
    W.Clang.reap();
    for (HeldOutput *Each : {&W.Out, &W.Err})
      if (Status S = Each->pump(); !S) {
        W.Kept = std::move(S);
        W.Clang.send(SIGKILL); // nobody would see what it prints
      }
    if (W.Until.passed()) {
      W.Clang.send(SIGKILL);
      W.Until = Deadline::never();
    }
    if (!W.Clang.ended()) {
      ++I;
      continue;
    }
    Ended.push_back(std::move(Running[I]));
    Running.erase(Running.begin() + ptrdiff_t(I));
  }
  for (std::unique_ptr<Way> &W : Ended)
    finish(std::move(W));
}

void Race::compile(const std::vector<std::string> &Runners) {
  size_t Next = Results.size(), Cores = coreCount();
  const size_t First = Next, End = Next + Runners.size();
  Results.resize(End);
  for (;;) {
    for (; !Stopped && Next < End && Running.size() < Cores; ++Next)
      if (Failure = start(Next, Runners[Next - First]); !Failure.ok())
        stop(SIGKILL);
    if (Running.empty())
      return;
    step();
  }
}

void Race::climb() {
  InlineClimb Climb(*Results[0], *Results[1]);
  forget(0);
  while (!Stopped) {
    const size_t First = Results.size();
    std::vector<std::string> Runners;
    for (const InlineClimb::Way &Each : Climb.next(What.Ways - First)) {
      Expected<std::string> Runner =
          replaying(file(First + Runners.size(), ".way"), Context, Each);
      if (!Runner)
        return; // what there is, is good enough
      Runners.push_back(std::move(*Runner));
    }
    if (Runners.empty())
      return;
    compile(Runners);
    if (!Failure.ok()) { // no more can be started
      Failure = Status();
      return;
    }
    std::vector<const InlinedObject *> Made;
    for (size_t I = First; I < Results.size(); ++I)
      Made.push_back(Results[I] ? &*Results[I] : nullptr);
    Climb.learn(Made);
    forget(First);
  }
}

void Race::forget(size_t First) {
  for (size_t I = First; I < Results.size(); ++I)
    if (Results[I]) {
      Results[I]->Functions.clear();
      Results[I]->Decisions.clear();
    }
}

Status Race::run() {
  // A source that reads standard input by itself would leave nothing of it for
  // other ways. From a socket that is not connected it cannot read, nor can it
  // open that again, but __has_include does not take it for missing: all ways
  // fail, and plain clang, run again, finds the real one whole.
  NoInput = os::aboveStandard(
      os::File(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  if (!NoInput)
    return os::lastError("socket");
  compile({"", What.Model});
  if (climbs() && Failure.ok() && Results[0] && Results[1])
    climb();
  if (Stopped) // models may have started others
    endAsking(Folder, /*SignalledAlready=*/true);
  return Failure;
}

/// A child that removes the folder, should we be killed.
Expected<HostProcess> guard(const std::string &Folder) {
  Expected<InteractiveHost> Nobody = InteractiveHost::open({});
  if (!Nobody)
    return Nobody.status();
  return HostProcess::start(*Nobody, {}, Folder);
}

/// What the winner printed, and clang about its command line.
HostedRun::Outcome show(const BudgetRun &What, Way &Winner) {
  HostedRun::Outcome Good;
  Good.Succeeded = true;
  const std::string &Warnings = What.Command.Warnings;
  for (const Status &S :
       {writeAll(STDERR_FILENO,
                 {reinterpret_cast<const unsigned char *>(Warnings.data()),
                  Warnings.size()}),
        Winner.Out.copyTo(STDOUT_FILENO), Winner.Err.copyTo(STDERR_FILENO)})
    if (!S.ok()) {
      Good.Shown = false;
      Good.Notes.push_back(S.message());
    }
  return Good;
}

} // namespace

Expected<HostedRun::Outcome> BudgetRun::run() {
  // While it lives, a signal waits until nothing of ours is left.
  CaughtSignals Signals;
  std::unique_ptr<Way> Winner;
  std::optional<int> PlainStatus;
  std::string Note;
  Status Failure;
  std::optional<HostProcess> Guard; // outlives the folder
  {
    PrivateFolder Folder;
    if (!Folder.Made)
      return Folder.Made.status();
    Expected<HostProcess> Started = guard(*Folder.Made);
    if (!Started)
      return Started.status();
    Guard.emplace(std::move(*Started));
    Race R(*this, Signals, *Folder.Made);
    Failure = R.run();
    Signals.take(); // the last word
    if (Failure.ok() && !Signals.received() && R.Best && R.PlainStatus == 0)
      Failure = replaceFile(R.object(R.Best->Index), Command.Object);
    Winner = std::move(R.Best);
    PlainStatus = R.PlainStatus;
    Note = R.note();
  }
  Guard.reset();
  if (int Signal = Signals.received())
    dieBy(Signal);
  // Plain clang may have had too little memory, but only beside others.
  if (PlainStatus && WIFSIGNALED(*PlainStatus) &&
      isEnding(WTERMSIG(*PlainStatus)))
    dieBy(WTERMSIG(*PlainStatus));
  Signals.letThrough();
  if (!Failure.ok())
    return Failure;
  if (PlainStatus != 0)
    return HostedRun::Outcome();
  HostedRun::Outcome Good = show(*this, *Winner);
  if (!Note.empty())
    Good.Notes.push_back(Note);
  return Good;
}

} // namespace cbridge::driver
