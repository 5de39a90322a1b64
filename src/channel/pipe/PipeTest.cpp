//===- PipeTest.cpp - Tests of the files of a pipe ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/PeerLock.h"
#include "channel/pipe/PipeFiles.h"

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>

using namespace cbridge;
using std::chrono::seconds;

namespace {

class PipeTest : public ::testing::Test {
protected:
  PipeTest() : Folder(*os::makePrivateDirectory()), Base(Folder + "/base") {}
  ~PipeTest() override { std::filesystem::remove_all(Folder); }

  Peer serve() { return *Peer::open("pipe:" + Base); }
  /// Whether a compiler gets an answer from P.
  static bool serves(Peer &P, const std::string &Base) {
    std::thread Answering([&] {
      Expected<std::shared_ptr<const Request>> R =
          P.next(Deadline::in(seconds(5)));
      if (R)
        (void)P.reply();
    });
    bool Answered = false;
    {
      Signature Sig({}, TensorSpec::create<int64_t>("y"));
      Expected<Model> M = Model::open("pipe:" + Base + "?timeout=5s", Sig);
      Answered = M->runner().evaluate<int64_t>().ok();
    }
    Answering.join();
    (void)P.next(Deadline::in(std::chrono::milliseconds(200))); // the end
    return Answered;
  }
  void spoilState() {
    std::fstream Lock(pipe::lockFile(Base),
                      std::ios::in | std::ios::out | std::ios::binary);
    Lock << "printed by mistake";
  }

  std::string Folder, Base;
};

} // namespace

TEST_F(PipeTest, ASpoiltStateIsMendedByTheNextCompiler) {
  Peer P = serve();
  ASSERT_TRUE(serves(P, Base));
  spoilState();
  EXPECT_TRUE(serves(P, Base));
}

TEST_F(PipeTest, AStateLeftBusyIsMendedByTheNextCompiler) {
  Peer P = serve();
  {
    os::File Lock = *os::openFile(pipe::lockFile(Base), O_RDWR);
    ASSERT_TRUE(pipe::writeState(Lock, pipe::Busy));
  }
  EXPECT_TRUE(serves(P, Base));
}

TEST_F(PipeTest, APeerMakesItsLockFileAnew) {
  std::optional<Peer> First = serve();
  os::File Lock = *os::openFile(pipe::lockFile(Base), O_RDWR);
  EXPECT_TRUE(isNamed(Lock, pipe::lockFile(Base)));
  First.reset();
  Peer Second = serve();
  EXPECT_FALSE(isNamed(Lock, pipe::lockFile(Base)));
  EXPECT_TRUE(serves(Second, Base));
}

TEST_F(PipeTest, AnOldPeerLeavesTheNewOnesFilesAlone) {
  std::optional<Peer> Old = serve();
  std::filesystem::remove_all(Folder);
  std::filesystem::create_directory(Folder);
  Peer New = serve();
  Old.reset();
  EXPECT_TRUE(serves(New, Base));
}

TEST_F(PipeTest, FilesAreForTheirOwnerOnlyAndGoWithThePeer) {
  {
    Peer P = serve();
    for (const auto &File : std::filesystem::directory_iterator(Folder))
      EXPECT_EQ(File.status().permissions(),
                std::filesystem::perms::owner_read |
                    std::filesystem::perms::owner_write)
          << File.path();
  }
  EXPECT_TRUE(std::filesystem::is_empty(Folder));
}

TEST_F(PipeTest, ALockOfSomebodyElseIsNotTouched) {
  std::ofstream(Base + ".lock") << "what another program has locked";
  for (const char *Scheme : {"pipe:", "shm:"}) {
    Expected<Peer> P = Peer::open(Scheme + Base);
    ASSERT_FALSE(P);
    EXPECT_NE(P.status().message().find(Base + ".lock is in the way"),
              std::string::npos)
        << P.status().toString();
  }
  EXPECT_EQ(std::filesystem::file_size(Base + ".lock"), 31u);
}

TEST_F(PipeTest, AFileInTheWayIsNotTouched) {
  std::ofstream(Base + ".in") << "precious";
  Expected<Peer> P = Peer::open("pipe:" + Base);
  ASSERT_FALSE(P);
  EXPECT_NE(P.status().message().find("is in the way"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(Base + ".in"), 8u);
}
