//===- CommandLine.cpp - What is ours of a command line -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "CommandLine.h"

#include "ResponseFile.h"

#include <cstdlib>
#include <cstring>

namespace cbridge::driver {

namespace {

constexpr char Prefix[] = "--cbridge-";
constexpr char BudgetVariable[] = "CBRIDGE_BUDGET";

bool startsWith(const std::string &Text, const std::string &Start) {
  return Text.compare(0, Start.size(), Start) == 0;
}

constexpr unsigned DefaultBudget = 1;

/// 0: it is none.
unsigned parseBudget(const std::string &Text) {
  if (Text.empty() || Text.size() > 2 ||
      Text.find_first_not_of("0123456789") != Text.npos)
    return 0;
  auto Number = unsigned(std::stoul(Text));
  return Number <= MaxBudget ? Number : 0;
}

Status wrong(const std::string &Option, const std::string &Why) {
  return Status::error(StatusCode::InvalidArgument, "option '" + Option + "' " +
                                                        Why +
                                                        "; see --cbridge-help");
}

std::string needsBudget() {
  return "needs a number from 1 to " + std::to_string(MaxBudget);
}

} // namespace

Status CommandLine::takeOption(const std::string &Word) {
  std::string Name = Word.substr(std::strlen(Prefix));
  if (Name == "help") {
    WantsHelp = true;
    return Status();
  }
  if (Name == "version") {
    WantsVersion = true;
    return Status();
  }
  constexpr char Budgets[] = "budget";
  if (Name == Budgets || startsWith(Name, Budgets + std::string("="))) {
    Budget = Name == Budgets ? 0 : parseBudget(Name.substr(sizeof(Budgets)));
    ToldBudget = true;
    return Budget ? Status() : wrong(Word, needsBudget());
  }
  for (const KindInfo &Each : Kinds) {
    std::string Start = Each.Name + std::string("=");
    if (startsWith(Name, Start)) {
      setModel(Each.K, Name.substr(Start.size()));
      return Status();
    }
    if (Name == Each.Name)
      return wrong(Word, "needs a runner, such as =shm:NAME");
  }
  return wrong(Word, "is not known");
}

/// Options count more, and have been taken.
Status CommandLine::takeVariables() {
  const char *Value = std::getenv(BudgetVariable);
  if (ToldBudget || Disabled)
    return Status();
  Budget = Value && *Value ? parseBudget(Value) : DefaultBudget;
  return Budget ? Status()
                : Status::error(StatusCode::InvalidArgument,
                                std::string(BudgetVariable) + "='" + Value +
                                    "': " + needsBudget());
}

Expected<CommandLine> CommandLine::parse(Span<char *const> Argv) {
  CommandLine Line;
  std::string Name = Argv.empty() ? "" : Argv[0];
  Name = Name.substr(Name.rfind('/') + 1);
  Line.IsCxx = Name.find("++") != Name.npos;
  const char *Disable = std::getenv("CBRIDGE_DISABLE");
  Line.Disabled = Disable && *Disable && std::strcmp(Disable, "0") != 0;
  for (const KindInfo &Each : Kinds)
    if (const char *Value = std::getenv(Each.Variable))
      Line.setModel(Each.K, Value);

  Status Wrong;
  bool OnlyInputs = false; // behind "--"
  auto IsOurs = [&](const std::string &Word) {
    OnlyInputs |= Word == "--";
    if (OnlyInputs || !startsWith(Word, Prefix))
      return false;
    if (Status S = Line.takeOption(Word); !S && Wrong.ok())
      Wrong = S;
    return true;
  };
  for (size_t I = 1; I < Argv.size(); ++I) {
    std::string Word = Argv[I];
    if (IsOurs(Word))
      continue;
    std::optional<ResponseFile> File;
    if (Word.size() > 1 && Word[0] == '@')
      File = readResponseFile(Word, IsOurs);
    if (File) {
      Line.Words.insert(Line.Words.end(), File->Words.begin(),
                        File->Words.end());
      Line.Arguments.push_back(std::move(File->Argument));
    } else {
      Line.Words.push_back(Word);
      Line.Arguments.push_back(std::move(Word));
    }
  }
  if (Wrong.ok())
    Wrong = Line.takeVariables();
  if (!Wrong.ok())
    return Wrong;
  return Line;
}

} // namespace cbridge::driver
