//===- EngineProcessTest.cpp - What engines do to their process -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EngineFixture.h"
#include "ThisProcess.h"
#include "log/LogTest.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::conformance;

extern char **environ; // NOLINT(readability-redundant-declaration)

namespace {

/// Folders that are all there is for a process to write to, and what happened
/// in them.
class WatchedHome {
public:
  WatchedHome() : Inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    for (const char *Name :
         {"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
          "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "TMP", "PWD"}) {
      std::string Path = Root / Name;
      std::filesystem::create_directory(Path);
      Environment.push_back(std::string(Name) + "=" + Path);
      constexpr uint32_t Changes = IN_CREATE | IN_MODIFY | IN_ATTRIB |
                                   IN_DELETE | IN_MOVE | IN_CLOSE_WRITE;
      EXPECT_GE(::inotify_add_watch(Inotify.get(), Path.c_str(), Changes), 0);
    }
  }
  /// The names of files to which something was done, in order.
  std::vector<std::string> touched() {
    std::vector<std::string> Names;
    alignas(inotify_event) char Buffer[4096];
    for (ssize_t Size;
         (Size = ::read(Inotify.get(), Buffer, sizeof(Buffer))) > 0;)
      for (ssize_t At = 0; At < Size;) {
        auto *Event = reinterpret_cast<inotify_event *>(Buffer + At);
        std::string_view Name = Event->len ? Event->name : "";
        if (Name.rfind("tsan.rodata.", 0) != 0) // ThreadSanitizer's own
          Names.emplace_back(Name);
        At += ssize_t(sizeof(inotify_event)) + Event->len;
      }
    for (const auto &Entry :
         std::filesystem::recursive_directory_iterator(Root.Path))
      if (!Entry.is_directory() || Entry.path().parent_path() != Root.Path)
        Names.push_back(Entry.path());
    return Names;
  }

  TemporaryFolder Root;
  /// "HOME=…" and so on.
  std::vector<std::string> Environment;

private:
  os::File Inotify;
};

/// Runs conformance_engine at Home, expects that it succeeds, and gives what it
/// printed.
std::string runAt(const WatchedHome &Home, std::vector<std::string> Arguments) {
  std::vector<std::string> Environment = Home.Environment;
  for (char **Each = environ; *Each; ++Each) {
    std::string_view Name = *Each;
    Name = Name.substr(0, Name.find('=') + 1);
    // Nothing from outside may keep ONNX Runtime from writing.
    bool Replaced = Name == "ORT_DISABLE_TELEMETRY=";
    for (const std::string &Other : Home.Environment)
      Replaced |= Other.rfind(Name, 0) == 0;
    if (!Replaced)
      Environment.emplace_back(*Each);
  }
  Arguments.insert(Arguments.begin(), CBRIDGE_CONFORMANCE_ENGINE);
  auto Pointers = [](std::vector<std::string> &Of) {
    std::vector<char *> All;
    for (std::string &Each : Of)
      All.push_back(Each.data());
    All.push_back(nullptr);
    return All;
  };
  std::vector<char *> Argv = Pointers(Arguments), Envp = Pointers(Environment);
  std::string Cwd = Home.Root / "PWD";
  os::File Printed(::memfd_create("printed", MFD_CLOEXEC));
  pid_t Child = forkToRun([&] {
    if (::chdir(Cwd.c_str()) == 0 && ::dup2(Printed.get(), 1) == 1 &&
        ::dup2(Printed.get(), 2) == 2)
      ::execve(Argv[0], Argv.data(), Envp.data());
    return 127;
  });
  EXPECT_EQ(waitForExit(Child), 0);
  std::string Text(size_t(::lseek(Printed.get(), 0, SEEK_END)), 0);
  EXPECT_EQ(::pread(Printed.get(), Text.data(), Text.size(), 0),
            ssize_t(Text.size()));
  return Text;
}

class EngineProcessTest : public EveryEngine {};
CBRIDGE_FOR_EVERY_ENGINE(EngineProcessTest);

TEST_P(EngineProcessTest, WhoDoesNotAskLoadsNothing) {
  WatchedHome Home;
  EXPECT_EQ(runAt(Home, {std::string(engine().Library)}), "");
}

TEST_P(EngineProcessTest, NothingIsPrintedOrWritten) {
  WatchedHome Home;
  EXPECT_EQ(
      runAt(Home, {std::string(engine().Library), runnerString("affine")}), "");
  EXPECT_EQ(Home.touched(), std::vector<std::string>());
}

TEST_P(EngineProcessTest, OnlyWhatTheUserNamesIsWritten) {
  // Also shows that what is written is noticed.
  WatchedHome Home;
  EXPECT_EQ(runAt(Home, {std::string(engine().Library),
                         runnerString("affine", "record=logs/")}),
            "");
  std::vector<std::string> Touched = Home.touched();
  ASSERT_FALSE(Touched.empty());
  for (const std::string &Each : Touched)
    EXPECT_TRUE(Each == "logs" || Each.find("/PWD/logs") != std::string::npos)
        << Each;
}

} // namespace
