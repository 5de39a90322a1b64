//===- Main.cpp - A clang that compiles again and again -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clang needs some 30 ms before it looks at its input, which is more than most
// modules take. Whoever compiles modules hundreds of times starts this program
// instead, once per core: it is ready to compile and forks a child per task.
//
// One JSON object per line, in and out; docs/formats/worker.md.
//
//===----------------------------------------------------------------------===//
#include "CompileChild.h"
#include "ObjectSizes.h"

#include <llvm/Passes/PassPlugin.h>

#include <csignal>
#include <cstdio>
#include <iostream>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::worker;
namespace json = llvm::json;

namespace {

const char Help[] =
    R"(usage: cbridge-compile-worker [PLUGIN.so]...

Compiles as `clang-19 -cc1` does, task after task, each in a forked child. Reads
tasks from standard input and writes results to standard output, a JSON object
per line; docs/formats/worker.md describes them. Pass plugins that are named
are loaded once; those of tasks are loaded for each. Ends with its input.
)";

constexpr size_t MostPrinted = size_t(1) << 16;

/// A file in memory, which children write.
class MemoryFile {
public:
  explicit MemoryFile(const char *Name)
      : File(::memfd_create(Name, MFD_CLOEXEC)) {}
  int get() const { return File.get(); }
  bool clear() {
    return ::ftruncate(get(), 0) == 0 && ::lseek(get(), 0, SEEK_SET) == 0;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> read() const {
    struct stat Info;
    if (::fstat(get(), &Info) != 0)
      return std::error_code(errno, std::generic_category());
    return llvm::MemoryBuffer::getOpenFile(get(), "object",
                                           uint64_t(Info.st_size), false);
  }

private:
  os::File File;
};

llvm::Expected<CompileTask> parseTask(llvm::StringRef Line, std::string &Keep) {
  llvm::Expected<json::Value> Parsed = json::parse(Line);
  if (!Parsed)
    return Parsed.takeError();
  auto Wrong = [](const char *What) { return llvm::createStringError(What); };
  const json::Object *Top = Parsed->getAsObject();
  const json::Array *Arguments = Top ? Top->getArray("arguments") : nullptr;
  if (!Arguments)
    return Wrong("a task is an object with 'arguments'");
  CompileTask Task;
  for (const json::Value &Word : *Arguments) {
    std::optional<llvm::StringRef> Text = Word.getAsString();
    if (!Text)
      return Wrong("'arguments' are strings");
    Task.Arguments.push_back(Text->str());
  }
  if (!Task.Arguments.empty() && Task.Arguments.front() == "-cc1")
    Task.Arguments.erase(Task.Arguments.begin());
  if (const json::Object *Environment = Top->getObject("environment"))
    for (const auto &[Name, Value] : *Environment) {
      std::optional<std::string> Text;
      if (std::optional<llvm::StringRef> Given = Value.getAsString())
        Text = Given->str();
      Task.Environment.emplace_back(Name.str(), std::move(Text));
    }
  Task.Seconds = Top->getNumber("seconds").value_or(300);
  Keep = Top->getString("object").value_or("").str();
  return Task;
}

std::string printedBy(const MemoryFile &Printed) {
  auto Buffer = Printed.read();
  if (!Buffer)
    return "";
  return json::fixUTF8((*Buffer)->getBuffer().take_front(MostPrinted));
}

/// Copies the object to a file.
std::string keep(const llvm::MemoryBuffer &Object, const std::string &Path) {
  std::error_code Error;
  llvm::raw_fd_ostream To(Path, Error);
  if (!Error) {
    To << Object.getBuffer();
    To.close();
    Error = To.error();
    To.clear_error();
  }
  return Error ? Path + ": " + Error.message() : "";
}

json::Object answer(llvm::StringRef Line, MemoryFile &Object,
                    MemoryFile &Printed) {
  auto Failed = [](const std::string &Why) {
    return json::Object{{"failure", json::fixUTF8(Why)}};
  };
  std::string Path;
  llvm::Expected<CompileTask> Task = parseTask(Line, Path);
  if (!Task)
    return Failed("wrong task: " + llvm::toString(Task.takeError()));
  if (!Object.clear() || !Printed.clear())
    return Failed("no memory for the object");
  CompileResult Done =
      compile(*Task, Object.get(), Printed.get(), STDIN_FILENO);
  if (Done.OwnerGone)
    ::_exit(EXIT_SUCCESS);
  json::Object Answer{{"seconds", Done.Seconds},
                      {"printed", printedBy(Printed)}};
  auto Fail = [&](const std::string &Why) {
    Answer["failure"] = json::fixUTF8(Why);
    Answer["timeout"] = Done.TookTooLong;
    return std::move(Answer);
  };
  if (!Done.Failure.empty())
    return Fail(Done.Failure);
  auto Buffer = Object.read();
  if (!Buffer)
    return Fail("the object cannot be read: " + Buffer.getError().message());
  llvm::Expected<ObjectSizes> Sizes =
      ObjectSizes::of((*Buffer)->getMemBufferRef());
  if (!Sizes)
    return Fail(llvm::toString(Sizes.takeError()));
  if (!Path.empty())
    if (std::string Why = keep(**Buffer, Path); !Why.empty())
      return Fail(Why);
  Answer["text"] = Sizes->Text;
  Answer["total"] = Sizes->Total;
  Answer["functions"] = std::move(Sizes->Functions);
  return Answer;
}

} // namespace

int main(int Argc, char **Argv) {
  ::signal(SIGPIPE, SIG_IGN);
  std::string First = Argc > 1 ? Argv[1] : "";
  if (First == "-h" || First == "--help") {
    std::fputs(Help, stdout);
    return EXIT_SUCCESS;
  }
  initializeClang("clang-19");
  for (int I = 1; I < Argc; ++I) {
    llvm::Expected<llvm::PassPlugin> Plugin = llvm::PassPlugin::Load(Argv[I]);
    if (!Plugin) {
      std::string Why = llvm::toString(Plugin.takeError());
      std::fprintf(stderr, "cbridge-compile-worker: %s\n", Why.c_str());
      return 2;
    }
  }
  MemoryFile Object("object"), Printed("printed");
  for (std::string Line; std::getline(std::cin, Line);) {
    llvm::outs() << json::Value(answer(Line, Object, Printed)) << '\n';
    llvm::outs().flush();
  }
  return EXIT_SUCCESS;
}
