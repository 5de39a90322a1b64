//===- Main.cpp - clang, with models that decide --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BudgetRun.h"
#include "ClangCall.h"
#include "ClangProcess.h"
#include "CommandLine.h"
#include "DefaultPolicy.h"
#include "HostedRun.h"
#include "ModelInterface.h"
#include "ObjectFile.h"
#include "Spool.h"

#include "shared/FindClang.h"
#include "shared/PluginPath.h"

#include <cbridge/RunnerString.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::driver;
using tool::Clang;
using tool::findClang;

namespace {

constexpr int Trouble = 2;

const char Help[] =
    R"(usage: cbridge-clang [OPTION of clang | OPTION below]... FILE...
       cbridge-clang++ ...

Is clang 19, with models that take some of its decisions. At -Os and -Oz, and
without -flto, a policy for small code decides what to inline.

  --cbridge-inline=RUNNER    what to inline, at any level; empty: clang decides
  --cbridge-evict=RUNNER     which register to free (greedy register allocator)
  --cbridge-priority=RUNNER  which value gets its register first
  --cbridge-budget=K         where one object is made of one source (-c):
                             compile it up to K ways, without a model, by that
                             which inlines, and with some of its decisions
                             reversed; keep the smallest object
                             (1 to 64; default: 1, by the model)
  --cbridge-help             print this text; --help prints clang's
  --cbridge-version          print the versions, and what is used

RUNNER is a runner string such as native:FILE.so, onnx:FILE.onnx or shm:NAME;
empty for no model. native:InlineOz is the policy for small code. A model that
is missing or fails leaves its decisions to clang, and one line on standard
error says why.

Environment:
  CBRIDGE_INLINE_MODEL, CBRIDGE_EVICT_MODEL, CBRIDGE_PRIORITY_MODEL
  CBRIDGE_BUDGET   as the options, which count more
  CBRIDGE_DISABLE  1: plain clang, whatever the options say
  CBRIDGE_CLANG    the clang to run (default: clang-19, clang++-19)
  CBRIDGE_ANSWER_TIMEOUT
                   seconds that one answer may take (evict, priority), and
                   a way of a budget beyond 20 times as long as plain clang
)";

void say(const std::string &Text) {
  // Further lines point at a place in a runner string.
  std::string Line = "cbridge-clang: " + Text.substr(0, Text.find('\n')) + "\n";
  std::fwrite(Line.data(), 1, Line.size(), stderr);
}

int fail(const std::string &Why) {
  say("error: " + Why);
  return Trouble;
}

/// Leaves a kind of decision to clang, and says why.
void dropModel(CommandLine &Line, Kind K, const std::string &Why) {
  say(std::string(Kinds[size_t(K)].Name) + " model '" + Line.model(K) +
      "' is not used: " + Why);
  Line.dropModel(K);
}

/// Leaves out what cannot work.
void checkModels(CommandLine &Line, const Clang &Compiler) {
  for (const KindInfo &Each : Kinds) {
    if (Line.model(Each.K).empty())
      continue;
    Expected<RunnerString> Runner = RunnerString::parse(Line.model(Each.K));
    if (!Runner)
      dropModel(Line, Each.K, Runner.status().message());
    else if (!Compiler.isVersion19())
      dropModel(Line, Each.K, "'" + Compiler.Path + "' is not clang 19");
    else if (Each.K != Kind::Inline && Runner->has("record") &&
             Runner->scheme() == "heuristic")
      dropModel(Line, Each.K,
                "LLVM's own decisions of this kind cannot be recorded");
    else if (!Runner->has("record") && Runner->scheme() == "heuristic")
      Line.dropModel(Each.K); // LLVM's own, and nothing to say about it
  }
}

/// Has the default policy inline, where nobody has said who does and all that
/// it needs is there. Nothing is said if that is not so: nobody has asked.
void chooseDefault(CommandLine &Line, ClangCall &Call, const Clang &Compiler,
                   const std::vector<std::string> &Argv) {
  if (Line.isTold(Kind::Inline) || Call.IsInner ||
      !optimizesForSize(Call, Argv) || !Compiler.isVersion19() ||
      !hasDefaultPolicy() ||
      std::any_of(Call.Files.begin(), Call.Files.end(), isUsedUpOnce))
    return;
  Line.useDefault(DefaultPolicy);
  Call.Optimizes = true; // if a configuration file or the environment says so
}

/// What loads the plugin, which then finds its model in the environment.
std::vector<std::string> inlineOptions(CommandLine &Line,
                                       const ClangCall &Call) {
  Expected<std::string> Plugin = tool::findLlvmPlugin();
  if (!Plugin) {
    dropModel(Line, Kind::Inline, Plugin.status().message());
    return {};
  }
  std::vector<std::string> Options = {"-fpass-plugin=" + *Plugin};
  if (Call.LinksLtoByLld) // clang does not tell lld
    Options.insert(Options.end(),
                   {"-Xlinker", "--load-pass-plugin=" + *Plugin});
  return Options;
}

void setVariable(const KindInfo &Of, const std::string &Value) {
  if (Value.empty())
    ::unsetenv(Of.Variable);
  else
    ::setenv(Of.Variable, Value.c_str(), 1);
}

int printVersion(const CommandLine &Line) {
  std::printf("cbridge-clang " CBRIDGE_VERSION "\n");
  Expected<Clang> Compiler = findClang(Line.IsCxx);
  std::printf("clang: %s\n", Compiler ? Compiler->Path.c_str()
                                      : Compiler.status().message().c_str());
  Expected<std::string> Plugin = tool::findLlvmPlugin();
  std::printf("plugin: %s\n",
              Plugin ? Plugin->c_str() : Plugin.status().message().c_str());
  for (const KindInfo &Each : Kinds) {
    std::string Model = Line.Disabled ? "" : Line.model(Each.K);
    if (Each.K == Kind::Inline && !Line.Disabled && !Line.isTold(Each.K) &&
        hasDefaultPolicy())
      Model = DefaultPolicy + std::string(" at -Os and -Oz");
    std::printf("%s model: %s\n", Each.Name,
                Model.empty() ? "none" : Model.c_str());
  }
  std::printf("budget: %u\n", Line.Disabled ? 1 : Line.Budget);
  return std::fflush(stdout) == 0 ? 0 : fail("cannot write");
}

int exec(const HostedRun &Run) {
  std::vector<std::string> Argv = Run.Plain;
  std::vector<std::string> Options = Run.Options;
  if (!Options.empty()) {
    // Where nothing is compiled, clang would warn that they are not used.
    Options.insert(Options.begin(), "--start-no-unused-arguments");
    Options.push_back("--end-no-unused-arguments");
  }
  Argv.insert(Argv.begin() + 1, Options.begin(), Options.end());
  return fail(execute(Run.Clang, Argv).message());
}

int execPlain(HostedRun &Run) {
  Run.Options.clear();
  setVariable(Kinds[size_t(Kind::Inline)], "");
  return exec(Run);
}

/// After clang failed with models: whether that was their fault is seen
/// without them. What users see is plain clang's, its crashes, too.
int runPlain(const HostedRun &Run, const std::string &Models) {
  setVariable(Kinds[size_t(Kind::Inline)], "");
  CaughtSignals Signals;
  ClangProcess Plain(Signals);
  if (Status S = Plain.start(Run.Clang, Run.Plain); !S)
    return fail(S.message());
  Plain.wait(Deadline::never());
  if (int Signal = Signals.received())
    dieBy(Signal);
  Signals.letThrough();
  if (WIFSIGNALED(Plain.waitStatus()))
    dieBy(WTERMSIG(Plain.waitStatus()));
  if (Plain.waitStatus() == 0)
    say("clang failed with " + Models + "; compiled without");
  return WEXITSTATUS(Plain.waitStatus());
}

/// The models that a run uses, for users.
std::string modelsOf(const HostedRun &Run, const CommandLine &Line) {
  std::string All;
  auto Add = [&](Kind K) {
    All += (All.empty() ? "" : ", ") + std::string(Kinds[size_t(K)].Name) +
           " model '" + Line.model(K) + "'";
  };
  if (!Run.Options.empty())
    Add(Kind::Inline);
  for (const Advised &Each : Run.Models)
    Add(Each.K);
  return All;
}

/// Models of register allocation that this call can use.
std::vector<Advised> advisors(CommandLine &Line, const ClangCall &Call) {
  std::vector<Advised> Models;
  for (auto [K, Chosen] : {std::pair{Kind::Evict, Call.ChoosesEviction},
                           std::pair{Kind::Priority, Call.ChoosesPriority}}) {
    if (Line.model(K).empty() || !Call.AllocatesRegisters)
      continue;
    if (Chosen)
      dropModel(Line, K, "options of LLVM choose an advisor already");
    else if (Call.EmbedsBitcode)
      dropModel(Line, K, "-fembed-bitcode allows no options of LLVM");
    else
      Models.push_back({K, Line.model(K)});
  }
  return Models;
}

/// Several compiles, if this call is one of which the smallest object can be
/// kept.
std::optional<BudgetRun> budgetRun(const HostedRun &Run,
                                   const CommandLine &Line,
                                   const ClangCall &Call) {
  const std::string &Model = Line.model(Kind::Inline);
  // A model that records is to be asked once about each decision.
  if (Line.Budget == 1 || Run.Options.empty() || !Run.Models.empty() ||
      Call.ReadsStdin || RunnerString::parse(Model)->has("record"))
    return std::nullopt;
  std::optional<InnerCommand> Command;
  if (Call.IsInner) {
    std::vector<std::string> Argv = {Run.Clang};
    Argv.insert(Argv.end(), Line.Words.begin(), Line.Words.end());
    Command = InnerCommand::of(std::move(Argv));
  } else if (Call.Optimizes && Call.OnlyMakesObjects) {
    Command = InnerCommand::ask(Run.Plain);
  }
  if (!Command || !canBeReplaced(Command->Object))
    return std::nullopt;
  size_t Ways = Line.Budget;
  if (Ways > 2 && !describesItself(Model))
    Ways = 2; // how it decided could not be known
  return BudgetRun{std::move(*Command), Run.Options, Model, Ways};
}

/// What users see of a run that came to an end.
int tell(const HostedRun::Outcome &Outcome) {
  for (const std::string &Note : Outcome.Notes)
    say(Note);
  return Outcome.Shown ? 0 : 1;
}

/// Clang with models, and without them if that fails.
int runWithModels(HostedRun Run, const CommandLine &Line) {
  Expected<HostedRun::Outcome> Outcome = Run.run();
  if (!Outcome && Outcome.status().code() == StatusCode::ModelError &&
      !Run.Options.empty()) { // no reason not to inline by a model
    say(Outcome.status().message() + "; compiled without it");
    Run.Models.clear();
    Outcome = Run.run();
  }
  if (!Outcome && Run.LostStdin)
    return fail(Outcome.status().message());
  if (!Outcome) {
    if (Outcome.status().code() == StatusCode::ModelError)
      say(Outcome.status().message() + "; compiled without it");
    else if (!Run.Models.empty() || Line.isTold(Kind::Inline))
      say(modelsOf(Run, Line) + " is not used: " + Outcome.status().message());
    return execPlain(Run);
  }
  if (!Outcome->Succeeded)
    return runPlain(Run, modelsOf(Run, Line));
  return tell(*Outcome);
}

/// Whether what we have taken for clang has started us again.
bool startedByItself() {
  constexpr char Variable[] = "CBRIDGE_CLANG_STARTED_BY";
  const char *By = std::getenv(Variable);
  pid_t Id = By ? std::atoi(By) : 0;
  ::setenv(Variable, std::to_string(::getpid()).c_str(), 1);
  return Id > 0 && (Id == ::getpid() || Id == ::getppid());
}

int run(CommandLine Line) {
  if (startedByItself())
    return fail("what is named as clang in CBRIDGE_CLANG or PATH starts "
                "cbridge-clang again");
  Expected<Clang> Compiler = findClang(Line.IsCxx);
  if (!Compiler)
    return fail(Compiler.status().message());
  ClangCall Call = ClangCall::of(Line.Words);
  HostedRun Run;
  Run.Clang = Compiler->Path;
  Run.Plain = {Compiler->Path};
  if (!Call.IsInner)
    Run.Plain.insert(Run.Plain.end(), Compiler->Arguments.begin(),
                     Compiler->Arguments.end());
  Run.Plain.insert(Run.Plain.end(), Line.Arguments.begin(),
                   Line.Arguments.end());
  Run.ReadsStdin = Call.ReadsStdin;
  Run.LinksByLld = Call.LinksLtoByLld;
  if (Line.Disabled || (Call.IsInner && !Line.hasToldBudget()))
    return exec(Run);
  chooseDefault(Line, Call, *Compiler, Run.Plain);
  checkModels(Line, *Compiler);
  if (!Line.model(Kind::Inline).empty())
    Run.Options = inlineOptions(Line, Call);
  setVariable(Kinds[size_t(Kind::Inline)], Line.model(Kind::Inline));
  Run.Models = advisors(Line, Call);

  bool Inlines = !Run.Options.empty() &&
                 (Call.Optimizes || Call.LinksLtoByLld || Call.IsInner);
  if (Run.Models.empty() && !Inlines)
    return exec(Run);
  // From here on clang may have to be run twice.
  for (const std::string &File : Call.Files)
    if (isUsedUpOnce(File)) {
      say(modelsOf(Run, Line) + " is not used: '" + File +
          "' is no regular file, and clang may have to be run twice");
      return execPlain(Run);
    }
  if (Run.ReadsStdin && !canReadInput())
    return execPlain(Run);
  if (std::optional<BudgetRun> Several = budgetRun(Run, Line, Call))
    if (Expected<HostedRun::Outcome> Outcome = Several->run())
      return Outcome->Succeeded ? tell(*Outcome) : execPlain(Run);
  if (Call.IsInner)
    return execPlain(Run);
  return runWithModels(std::move(Run), Line);
}

} // namespace

int main(int Count, char **Words) {
  Expected<CommandLine> Line =
      CommandLine::parse({Words, size_t(Count < 0 ? 0 : Count)});
  if (!Line)
    return fail(Line.status().message());
  if (Line->WantsHelp) {
    std::fputs(Help, stdout);
    return std::fflush(stdout) == 0 ? 0 : fail("cannot write");
  }
  if (Line->WantsVersion)
    return printVersion(*Line);
  return run(std::move(*Line));
}
