//===- SocketTest.cpp - Tests of sockets, file sets and spinning ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Socket.h"

#include "os/FileSet.h"
#include "os/Spin.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cbridge;
using std::chrono::milliseconds;

namespace {

struct Sockets {
  os::File A, B;
  Sockets() {
    int Ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                     Ends) != 0)
      std::abort();
    A = os::File(Ends[0]);
    B = os::File(Ends[1]);
  }
};

Bytes bytes(std::string_view Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

size_t openFiles() {
  std::filesystem::directory_iterator All("/proc/self/fd");
  return size_t(std::distance(begin(All), end(All)));
}

TEST(SocketTest, ConnectsToWhoListens) {
  std::string Folder = *os::makePrivateDirectory(), Path = Folder + "/socket";
  int Errno = 0;
  EXPECT_FALSE(os::connectUnix(Path, &Errno));
  EXPECT_EQ(Errno, ENOENT);
  {
    Expected<os::File> Listening = os::listenUnix(Path);
    ASSERT_TRUE(Listening) << Listening.status().toString();
    struct stat Info;
    ASSERT_EQ(::stat(Path.c_str(), &Info), 0);
    EXPECT_EQ(Info.st_mode & 0777, 0600u);
    EXPECT_FALSE(os::acceptUnix(*Listening)); // nobody is there
    Expected<os::File> Ours = os::connectUnix(Path, &Errno);
    ASSERT_TRUE(Ours) << Ours.status().toString();
    Expected<os::File> Theirs = os::acceptUnix(*Listening);
    ASSERT_TRUE(Theirs) << Theirs.status().toString();
    Bytes Hello = bytes("hello");
    EXPECT_EQ(os::sendSome(Ours->get(), {&Hello, 1}, {}).Size, 5u);
    unsigned char To[16];
    std::vector<os::File> Files;
    EXPECT_EQ(os::receiveSome(Theirs->get(), To, Files, 1).Size, 5u);
    EXPECT_FALSE(os::listenUnix(Path)); // it is taken
  }
  EXPECT_FALSE(os::connectUnix(Path, &Errno));
  EXPECT_EQ(Errno, ECONNREFUSED);
  std::filesystem::remove_all(Folder);
}

TEST(SocketTest, CarriesFilesUpToALimit) {
  Sockets S;
  size_t Before = openFiles();
  int Null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  int Some[] = {Null, Null, Null};
  Bytes One = bytes("x");
  std::vector<os::File> Came;
  unsigned char To[16];
  for (int Round = 0; Round < 3; ++Round) {
    ASSERT_EQ(os::sendSome(S.A.get(), {&One, 1}, Some).Size, 1u);
    ASSERT_EQ(os::receiveSome(S.B.get(), To, Came, 2).Size, 1u);
    EXPECT_EQ(Came.size(), 2u);
  }
  EXPECT_EQ(::fcntl(Came[0].get(), F_GETFD), FD_CLOEXEC);
  Came.clear();
  ::close(Null);
  EXPECT_EQ(openFiles(), Before);
}

TEST(SocketTest, TellsOfFilesThatItHasNoRoomFor) {
  Sockets S;
  int Null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  Bytes One = bytes("x");
  ASSERT_EQ(os::sendSome(S.A.get(), {&One, 1}, {&Null, 1}).Size, 1u);
  rlimit Before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &Before), 0);
  rlimit None = {0, Before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &None), 0);
  std::vector<os::File> Came;
  unsigned char To[16];
  os::Transfer T = os::receiveSome(S.B.get(), To, Came, 1);
  int Why = errno;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &Before), 0);
  EXPECT_EQ(T.Kind, os::Transfer::Failed);
  EXPECT_EQ(Why, EMFILE);
  EXPECT_TRUE(Came.empty());
  ::close(Null);
}

TEST(SocketTest, TellsOfTheEnd) {
  Sockets S;
  unsigned char To[16];
  std::vector<os::File> Came;
  EXPECT_EQ(os::receiveSome(S.A.get(), To, Came, 1).Kind,
            os::Transfer::WouldBlock);
  EXPECT_TRUE(os::clearWakes(S.A.get()));
  os::wakeOther(S.B.get());
  S.B.close();
  EXPECT_TRUE(os::clearWakes(S.A.get())); // the last word
  EXPECT_FALSE(os::clearWakes(S.A.get()));
  EXPECT_EQ(os::receiveSome(S.A.get(), To, Came, 1).Kind, os::Transfer::Closed);
  ::signal(SIGPIPE, SIG_DFL); // which is not raised
  Bytes One = bytes("x");
  EXPECT_EQ(os::sendSome(S.A.get(), {&One, 1}, {}).Kind, os::Transfer::Closed);
  os::wakeOther(S.A.get());
}

TEST(SocketTest, AFullSocketWakesAsWell) {
  Sockets S;
  for (int I = 0; I < 100'000; ++I)
    os::wakeOther(S.A.get());
  EXPECT_EQ(os::waitReadable(S.B.get(), Deadline::past()), os::Ready::Yes);
  for (int I = 0; I < 1000; ++I)
    EXPECT_TRUE(os::clearWakes(S.B.get()));
  EXPECT_EQ(os::waitReadable(S.B.get(), Deadline::past()), os::Ready::Timeout);
}

TEST(FileSetTest, TellsWhoSpoke) {
  Sockets First, Second;
  os::FileSet Files;
  Files.add(First.A.get());
  Files.add(Second.A.get());
  EXPECT_EQ(Files.size(), 2u);
  EXPECT_FALSE(Files.wait(Deadline::past()));
  EXPECT_FALSE(Files.woken(0, 2));
  os::wakeOther(Second.B.get());
  EXPECT_TRUE(Files.wait(Deadline::never()));
  EXPECT_FALSE(Files.woken(0, 1));
  EXPECT_TRUE(Files.woken(1, 2));
  EXPECT_FALSE(Files.woken(1, 1));
  First.B.close();
  EXPECT_TRUE(Files.wait(Deadline::past()));
  EXPECT_TRUE(Files.woken(0, 1));
  Files.clear();
  EXPECT_FALSE(Files.wait(Deadline::in(milliseconds(1))));
}

TEST(SpinTest, SeesWhatComes) {
  os::SpinHabit Habit;
  int Looks = 0;
  auto Later = [&] { return ++Looks > 10; };
  EXPECT_TRUE(Habit.spin(os::Spin::Look, Deadline::never(), Later));
  EXPECT_FALSE(Habit.spin(os::Spin::Not, Deadline::never(), Later));
  auto Now = [] { return true; };
  EXPECT_TRUE(Habit.spin(os::Spin::Yield, Deadline::past(), Now));
}

TEST(SpinTest, LearnsThatItIsInVain) {
  for (os::Spin How : {os::Spin::Yield, os::Spin::Look}) {
    os::SpinHabit Habit;
    size_t Looks = 0;
    auto Never = [&] { return ++Looks == 0; };
    for (int I = 0; I < 50; ++I)
      EXPECT_FALSE(Habit.spin(How, Deadline::never(), Never));
    Looks = 0;
    for (int I = 0; I < 60; ++I)
      EXPECT_FALSE(Habit.spin(How, Deadline::past(), Never));
    EXPECT_LT(Looks, 200u); // one try at most
    // And that it helps again.
    bool Came = false;
    for (int I = 0; I < 64; ++I)
      Came |= Habit.spin(How, Deadline::never(), [] { return true; });
    EXPECT_TRUE(Came);
    EXPECT_TRUE(Habit.spin(How, Deadline::never(), [] { return true; }));
  }
}

TEST(SpinTest, KnowsTheOnlyCore) {
  cpu_set_t Before, One;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(Before), &Before), 0);
  int Core = 0;
  while (!CPU_ISSET(Core, &Before))
    ++Core;
  CPU_ZERO(&One);
  CPU_SET(Core, &One);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(One), &One), 0);
  EXPECT_EQ(os::onlyCore(), Core);
  ::sched_setaffinity(0, sizeof(Before), &Before);
  EXPECT_EQ(os::onlyCore(), CPU_COUNT(&Before) == 1 ? Core : -1);
}

} // namespace
