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
#include "Spool.h"

#include "os/FileSet.h"

#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

/// A directory of our own, removed at the end.
class PrivateFolder {
public:
  PrivateFolder() : Made(os::makePrivateDirectory()) {}
  ~PrivateFolder() {
    if (Made)
      os::removeDirectory(*Made);
  }
  const Expected<std::string> Made;
};

const char *nameOf(Kind K) { return Kinds[size_t(K)].Name; }

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

/// Clang looks at its standard error, which is held back, for this.
bool wantsColour() {
  const char *Terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && Terminal &&
         std::strcmp(Terminal, "dumb") != 0;
}

/// Clang's process, what it prints, and the models, together.
class Session {
public:
  Session(std::string Folder, HeldOutput Out, HeldOutput Err)
      : Folder(std::move(Folder)), Out(std::move(Out)), Err(std::move(Err)) {}

  Status run(const HostedRun &What, InteractiveHost &Host, int Input);
  ClangProcess Clang;
  std::vector<Report> Reports;
  const std::string Folder;
  HeldOutput Out, Err;

private:
  Status watch(const HostProcess &Models);
};

/// Until clang has ended, or there is no use in waiting for that.
Status Session::watch(const HostProcess &Models) {
  os::FileSet Files;
  while (!Clang.ended()) {
    Files.clear();
    Files.add(Clang.signals());
    Files.add(Models.file());
    for (HeldOutput *Each : {&Out, &Err})
      if (Each->file() >= 0)
        Files.add(Each->file());
    Files.wait(Clang.nextStep());
    Clang.handleSignals();
    for (HeldOutput *Each : {&Out, &Err})
      if (Status S = Each->pump(); !S)
        return S;
    if (os::hungUp(Models.file()))
      break; // finish() tells why
  }
  return Status();
}

Status Session::run(const HostedRun &What, InteractiveHost &Host, int Input) {
  std::vector<std::string> Arguments = {What.Plain[0]};
  if (wantsColour())
    Arguments.push_back("-fcolor-diagnostics");
  Arguments.push_back("--start-no-unused-arguments");
  std::vector<std::string> Runners;
  for (size_t I = 0; I < What.Models.size(); ++I) {
    addOptions(Arguments, What.Models[I].K, Host.base(I));
    Runners.push_back(What.Models[I].Runner);
  }
  Arguments.push_back("--end-no-unused-arguments");
  Arguments.insert(Arguments.end(), What.Plain.begin() + 1, What.Plain.end());

  if (Status S = Clang.start(What.Clang, Arguments, Input, Out.Far.get(),
                             Err.Far.get());
      !S)
    return S;
  Out.Far.close();
  Err.Far.close();
  Status Failure;
  if (Expected<HostProcess> Models =
          HostProcess::start(Host, Runners, Folder)) {
    Failure = watch(*Models);
    bool WasEnded = Clang.wasKilled();
    // Compilers that clang has left behind, or all if it is not to go on.
    endProcessesNaming(Folder);
    Clang.wait();
    if (WasEnded || Clang.endedBySignalToUs())
      return Status(); // whatever the model makes of that
    Expected<std::vector<Report>> Told = Models->finish(Runners.size());
    if (Told)
      Reports = std::move(*Told);
    else if (Failure.ok())
      Failure = Told.status();
  } else {
    Failure = Models.status();
    endProcessesNaming(Folder);
    Clang.wait();
  }
  for (HeldOutput *Each : {&Out, &Err})
    if (Status S = Each->pump(); !S && Failure.ok())
      Failure = S;
  return Failure;
}

/// Why the compile was not good, if it was not.
Status judge(const HostedRun &What, const Session &S) {
  uint64_t Decisions = 0;
  for (size_t I = 0; I < S.Reports.size(); ++I) {
    Decisions += S.Reports[I].Decisions + S.Reports[I].Replaced;
    if (!S.Reports[I].Failure.empty())
      return Status::error(StatusCode::ModelError,
                           std::string(nameOf(What.Models[I].K)) + " model '" +
                               What.Models[I].Runner +
                               "': " + S.Reports[I].Failure);
  }
  // Not the model's fault that the source is wrong; but who knows.
  if (S.Clang.waitStatus() != 0 && Decisions != 0)
    return Status::error(StatusCode::ModelError, "clang failed after " +
                                                     std::to_string(Decisions) +
                                                     " decisions of models");
  return Status();
}

} // namespace

Expected<HostedRun::Outcome> HostedRun::run() {
  PrivateFolder Folder;
  if (!Folder.Made)
    return Folder.Made.status();
  std::vector<std::string> Bases;
  for (const Advised &Each : Models)
    Bases.push_back(*Folder.Made + "/" + nameOf(Each.K));
  Expected<InteractiveHost> Host = InteractiveHost::open(Bases);
  if (!Host)
    return Host.status();
  Expected<HeldOutput> Out = HeldOutput::open(*Folder.Made);
  if (!Out)
    return Out.status();
  Expected<HeldOutput> Err = HeldOutput::open(*Folder.Made);
  if (!Err)
    return Err.status();
  if (ReadsStdin) {
    Expected<os::File> Input = spoolInput(*Folder.Made);
    if (!Input)
      return Input.status();
    ::dup2(Input->get(), STDIN_FILENO);
  }

  Session S(*Folder.Made, std::move(*Out), std::move(*Err));
  Status Failure = S.run(*this, *Host, STDIN_FILENO);
  if (ReadsStdin)
    ::lseek(STDIN_FILENO, 0, SEEK_SET);
  if (int Signal = S.Clang.endedBySignalToUs()) {
    os::removeDirectory(*Folder.Made);
    dieBy(Signal);
  }
  if (Failure.ok())
    Failure = judge(*this, S);
  if (!Failure.ok())
    return Failure;

  Outcome Good;
  Good.WaitStatus = S.Clang.waitStatus();
  if (Status Shown = S.Out.copyTo(STDOUT_FILENO); !Shown)
    Good.Notes.push_back("standard output: " + Shown.message());
  if (Status Shown = S.Err.copyTo(STDERR_FILENO); !Shown)
    Good.Notes.push_back("standard error: " + Shown.message());
  for (size_t I = 0; I < S.Reports.size(); ++I)
    if (const Report &R = S.Reports[I]; R.Replaced != 0)
      Good.Notes.push_back(std::string(nameOf(Models[I].K)) + " model '" +
                           Models[I].Runner +
                           "': " + std::to_string(R.Replaced) + " of " +
                           std::to_string(R.Decisions + R.Replaced) +
                           " decisions were not legal, such as " + R.Illegal +
                           "; defaults were taken instead");
  return Good;
}

} // namespace cbridge::driver
