//===- HostedRun.cpp - Runs clang while models answer it ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostedRun.h"

#include "ClangProcess.h"
#include "EndProcesses.h"
#include "HostProcess.h"
#include "PrivateFolder.h"
#include "Spool.h"

#include "os/FileSet.h"

#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

/// For a clang that has been told to end.
constexpr std::chrono::seconds Grace(10);

const char *nameOf(Kind K) { return Kinds[size_t(K)].Name; }
std::string nameOf(const Advised &A) {
  return nameOf(A.K) + (" model '" + A.Runner + "'");
}

/// What makes clang ask at Base.
void addOptions(std::vector<std::string> &To, Kind K, const std::string &Base) {
  bool Evicts = K == Kind::Evict;
  To.insert(To.end(),
            {"-mllvm",
             Evicts ? "-regalloc-enable-advisor=release"
                    : "-regalloc-enable-priority-advisor=release",
             "-mllvm",
             (Evicts ? "-regalloc-evict-interactive-channel-base="
                     : "-regalloc-priority-interactive-channel-base=") +
                 Base});
}

/// What clang prints, and how the models did.
class Session {
public:
  Session(HostedRun &What, CaughtSignals &Signals, ClangProcess &Clang)
      : What(What), Signals(Signals), Clang(Clang) {}

  /// Fails if there is no telling whether the compile was good.
  Status run(const std::string &Folder);
  /// Why a model did not decide, if one did not.
  Status judge() const;
  HostedRun::Outcome show();

private:
  Status open(const std::string &Folder);
  Status startClang(const std::string &Folder, const InteractiveHost &Host);
  Status watch(const HostProcess &Models);
  std::vector<std::string> runners() const;

  HostedRun &What;
  CaughtSignals &Signals;
  ClangProcess &Clang;
  HeldOutput Out, Err;
  std::vector<Report> Reports;
};

/// What is needed before clang can be started.
Status Session::open(const std::string &Folder) {
  for (HeldOutput *Each : {&Out, &Err}) {
    Expected<HeldOutput> Made = HeldOutput::open(Folder);
    if (!Made)
      return Made.status();
    *Each = std::move(*Made);
  }
  if (!What.ReadsStdin)
    return Status();
  Expected<os::File> Input = makeNamelessFile(Folder);
  if (!Input)
    return Input.status();
  Status S = spoolInput(*Input, Signals.file());
  What.LostStdin = !S.ok();
  Clang.handleSignals();
  return S;
}

Status Session::startClang(const std::string &Folder,
                           const InteractiveHost &Host) {
  std::vector<std::string> Arguments = {What.Plain[0]};
  bool Colour = wantsColour();
  if (Colour)
    Arguments.push_back("-fcolor-diagnostics");
  Arguments.push_back("--start-no-unused-arguments");
  if (Colour && What.LinksByLld)
    Arguments.insert(Arguments.end(), {"-Xlinker", "--color-diagnostics"});
  Arguments.insert(Arguments.end(), What.Options.begin(), What.Options.end());
  for (size_t I = 0; I < What.Models.size(); ++I)
    addOptions(Arguments, What.Models[I].K, Host.base(I));
  Arguments.push_back("--end-no-unused-arguments");
  Arguments.insert(Arguments.end(), What.Plain.begin() + 1, What.Plain.end());
  ClangProcess::Place Here = {Folder, Out.Far.get(), Err.Far.get()};
  Status S = Clang.start(What.Clang, Arguments, &Here);
  Out.Far.close();
  Err.Far.close();
  return S;
}

std::vector<std::string> Session::runners() const {
  std::vector<std::string> Runners;
  for (const Advised &Each : What.Models)
    Runners.push_back(Each.Runner);
  return Runners;
}

/// Until clang has ended, or there is no use in waiting for that.
Status Session::watch(const HostProcess &Models) {
  os::FileSet Files;
  while (!Clang.ended()) {
    Files.clear();
    Files.add(Signals.file());
    Files.add(Models.file());
    for (HeldOutput *Each : {&Out, &Err})
      if (Each->file() >= 0)
        Files.add(Each->file());
    Files.wait(Signals.nextStep());
    Clang.handleSignals();
    for (HeldOutput *Each : {&Out, &Err})
      if (Status S = Each->pump(); !S)
        return S;
    if (os::hungUp(Models.file()))
      break; // finish() tells why
  }
  return Status();
}

Status Session::run(const std::string &Folder) {
  std::vector<std::string> Bases;
  for (const Advised &Each : What.Models)
    Bases.push_back(Folder + "/" + nameOf(Each.K));
  Expected<InteractiveHost> Host = InteractiveHost::open(Bases);
  if (!Host)
    return Host.status();
  // First of all: it cleans up after us, should we be killed.
  Expected<HostProcess> Models = HostProcess::start(*Host, runners(), Folder);
  if (!Models)
    return Models.status();
  if (Status S = open(Folder); !S || Signals.received())
    return S;
  if (Status S = startClang(Folder, *Host); !S)
    return S;
  Status Failure = watch(*Models);
  bool WasKilled = Clang.wasKilled();
  // A clang that has ended by itself has waited for its compilers.
  bool Signalled = WasKilled || Signals.received();
  if (!Clang.ended() || Signalled)
    endAsking(Folder, Signalled);
  Clang.wait(Deadline::in(Grace));
  if (Signalled)
    return Status(); // whatever the model makes of that
  Expected<std::vector<Report>> Told = Models->finish(What.Models.size());
  if (Told)
    Reports = std::move(*Told);
  else if (Failure.ok())
    Failure = Told.status();
  for (HeldOutput *Each : {&Out, &Err})
    if (Status S = Each->pump(); !S && Failure.ok())
      Failure = S;
  return Failure;
}

Status Session::judge() const {
  for (size_t I = 0; I < Reports.size(); ++I)
    if (!Reports[I].Failure.empty())
      return Status::error(StatusCode::ModelError,
                           nameOf(What.Models[I]) + ": " + Reports[I].Failure);
  return Status();
}

HostedRun::Outcome Session::show() {
  HostedRun::Outcome Good;
  Good.Succeeded = true;
  for (auto [Held, File] :
       {std::pair{&Out, STDOUT_FILENO}, std::pair{&Err, STDERR_FILENO}})
    if (Status S = Held->copyTo(File); !S) {
      Good.Shown = false;
      Good.Notes.push_back(S.message());
    }
  for (size_t I = 0; I < Reports.size(); ++I) {
    const Report &R = Reports[I];
    std::string Name = nameOf(What.Models[I]) + ": ";
    if (R.Replaced != 0)
      Good.Notes.push_back(Name + std::to_string(R.Replaced) + " of " +
                           std::to_string(R.Decisions + R.Replaced) +
                           " decisions were not legal, such as " + R.Illegal +
                           "; defaults were taken instead");
    if (!R.NotRecorded.empty())
      Good.Notes.push_back(Name + R.NotRecorded);
  }
  return Good;
}

} // namespace

Expected<HostedRun::Outcome> HostedRun::run() {
  // While it lives, a signal waits until nothing of ours is left.
  CaughtSignals Signals;
  ClangProcess Clang(Signals);
  Session S(*this, Signals, Clang);
  Status Failure;
  {
    PrivateFolder Folder;
    Failure = Folder.Made ? S.run(*Folder.Made) : Folder.Made.status();
  }
  if (int Signal = Signals.received())
    dieBy(Signal);
  if (ReadsStdin && !LostStdin)
    ::lseek(STDIN_FILENO, 0, SEEK_SET);
  if (Failure.ok())
    Failure = S.judge();
  if (Failure.ok() && Clang.wasKilled()) // and not by us
    dieBy(WTERMSIG(Clang.waitStatus()));
  Signals.letThrough();
  if (!Failure.ok())
    return Failure;
  return Clang.waitStatus() == 0 ? S.show() : Outcome();
}

} // namespace cbridge::driver
