//===- Main.cpp - clang, with models that decide --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ClangCall.h"
#include "ClangProcess.h"
#include "CommandLine.h"
#include "HostedRun.h"

#include "shared/FindClang.h"
#include "shared/PluginPath.h"

#include <cbridge/RunnerString.h>

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

Is clang 19, with models that take some of its decisions.

  --cbridge-inline=RUNNER    what to inline
  --cbridge-evict=RUNNER     which register to free (greedy register allocator)
  --cbridge-priority=RUNNER  which value gets its register first
  --cbridge-help             print this text; --help prints clang's
  --cbridge-version          print the versions, and what is used

RUNNER is a runner string such as native:FILE.so, onnx:FILE.onnx or shm:NAME;
empty for no model. A model that is missing or fails leaves its decisions to
clang, and one line on standard error says why.

Environment:
  CBRIDGE_INLINE_MODEL, CBRIDGE_EVICT_MODEL, CBRIDGE_PRIORITY_MODEL
                   as the options, which count more
  CBRIDGE_DISABLE  1: plain clang, whatever the options say
  CBRIDGE_CLANG    the clang to run (default: clang-19, clang++-19)
  CBRIDGE_ANSWER_TIMEOUT
                   seconds that one answer may take (evict, priority)
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

/// What loads the plugin, which then finds its model in the environment.
std::vector<std::string> inlineOptions(CommandLine &Line,
                                       const ClangCall &Call) {
  Expected<std::string> Plugin = tool::findLlvmPlugin();
  if (!Plugin) {
    dropModel(Line, Kind::Inline, Plugin.status().message());
    return {};
  }
  // Where nothing is compiled, clang would warn that it is not used.
  std::vector<std::string> Options = {"--start-no-unused-arguments",
                                      "-fpass-plugin=" + *Plugin};
  if (Call.LinksLtoByLld) // clang does not tell lld
    Options.insert(Options.end(),
                   {"-Xlinker", "--load-pass-plugin=" + *Plugin});
  Options.push_back("--end-no-unused-arguments");
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
  for (const KindInfo &Each : Kinds)
    std::printf("%s model: %s\n", Each.Name,
                Line.Disabled || Line.model(Each.K).empty()
                    ? "none"
                    : Line.model(Each.K).c_str());
  return std::fflush(stdout) == 0 ? 0 : fail("cannot write");
}

int execPlain(const Clang &Compiler, const std::vector<std::string> &Argv) {
  return fail(execute(Compiler.Path, Argv).message());
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
  std::vector<std::string> Argv = {Compiler->Path};
  auto Add = [&](const std::vector<std::string> &Words) {
    Argv.insert(Argv.end(), Words.begin(), Words.end());
  };
  if (!Call.IsInner)
    Add(Compiler->Arguments);
  if (Line.Disabled || Call.IsInner) {
    Add(Line.Arguments);
    return execPlain(*Compiler, Argv);
  }
  checkModels(Line, *Compiler);
  if (!Line.model(Kind::Inline).empty())
    Add(inlineOptions(Line, Call));
  setVariable(Kinds[size_t(Kind::Inline)], Line.model(Kind::Inline));
  Add(Line.Arguments);

  HostedRun Run;
  Run.Clang = Compiler->Path;
  Run.Plain = Argv;
  Run.ReadsStdin = Call.ReadsStdin;
  for (auto [K, Chosen] : {std::pair{Kind::Evict, Call.ChoosesEviction},
                           std::pair{Kind::Priority, Call.ChoosesPriority}}) {
    if (Line.model(K).empty() || !Call.AllocatesRegisters)
      continue;
    if (Chosen)
      dropModel(Line, K, "options of LLVM choose an advisor already");
    else if (Call.EmbedsBitcode)
      dropModel(Line, K, "-fembed-bitcode allows no options of LLVM");
    else
      Run.Models.push_back({K, Line.model(K)});
  }
  if (Run.Models.empty())
    return execPlain(*Compiler, Argv);

  Expected<HostedRun::Outcome> Outcome = Run.run();
  if (!Outcome && Run.LostStdin)
    return fail(Outcome.status().message());
  if (!Outcome) {
    say(Outcome.status().message() + "; compiled without it");
    return execPlain(*Compiler, Argv);
  }
  for (const std::string &Note : Outcome->Notes)
    say(Note);
  if (WIFSIGNALED(Outcome->WaitStatus))
    dieBy(WTERMSIG(Outcome->WaitStatus));
  int Code = WEXITSTATUS(Outcome->WaitStatus);
  return Code == 0 && !Outcome->Shown ? 1 : Code;
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
