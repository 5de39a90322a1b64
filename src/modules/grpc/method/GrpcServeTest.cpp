//===- GrpcServeTest.cpp - role=server ------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "channel/Handshake.h"
#include "modules/grpc/method/PlainTrainer.h"

#include <thread>

#include <sys/stat.h>

using namespace cbridge;
using namespace cbridge::test;

TEST(GrpcServeTest, AnEpisodeAsAGymSeesIt) {
  ServedModel Compiler;
  Trainer T(Compiler.address());
  for (int Episode = 0; Episode < 2; ++Episode) {
    auto Compiling = std::async(std::launch::async, [&] {
      MLModelRunner Runner = Compiler.M->runner();
      Runner.switchContext("fib");
      int64_t Sum = 0;
      for (int64_t X = 0; X < 5; ++X) {
        Runner.populateFeatures(std::pair{"x", X});
        Expected<int64_t> Y = Runner.evaluate<int64_t>();
        EXPECT_TRUE(Y) << Y.status().toString();
        Sum += Y ? *Y : 0;
        EXPECT_TRUE(Runner.reward(double(X) / 2).ok());
      }
      return Sum;
    });
    T.step(0);
    Expected<Hello> Told = Hello::decode(
        {reinterpret_cast<const unsigned char *>(T.Seen.signature().data()),
         T.Seen.signature().size()});
    ASSERT_TRUE(Told) << Told.status().toString();
    EXPECT_EQ(Told->Sig, xToY());
    EXPECT_FALSE(T.Seen.has_reward());
    EXPECT_EQ(T.Seen.runner(), unsigned(Episode + 1));
    for (uint64_t Step = 0; Step < 5; ++Step) {
      EXPECT_EQ(T.Seen.kind(), pb::REQUEST);
      EXPECT_EQ(T.Seen.sequence(), Step);
      EXPECT_EQ(T.Seen.context(), "fib");
      EXPECT_EQ(T.x(), int64_t(Step));
      T.step(Step + 1, 10 * T.x());
      EXPECT_TRUE(T.Seen.signature().empty());
      EXPECT_EQ(T.Seen.reward(), double(Step) / 2);
    }
    // The runner went away.
    EXPECT_EQ(T.Seen.kind(), pb::END);
    EXPECT_FALSE(T.Seen.truncated());
    EXPECT_EQ(T.Seen.sequence(), 5u);
    EXPECT_EQ(Compiling.get(), 100);
  }
}

TEST(GrpcServeTest, AnEpisodeMayBeCutShort) {
  ServedModel Compiler;
  Trainer T(Compiler.address());
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 1);
  T.step(0);
  auto Next = std::async(std::launch::async, [&] { return T.step(1, 2); });
  ASSERT_TRUE(Asking.get());
  EXPECT_TRUE(Runner.reward(-1).ok());
  EXPECT_TRUE(Runner.endEpisode(/*Truncated=*/true).ok());
  pb::Observation End = Next.get();
  EXPECT_EQ(End.kind(), pb::END);
  EXPECT_TRUE(End.truncated());
  EXPECT_EQ(End.reward(), -1);
  // Told again until the next begins.
  EXPECT_TRUE(T.step(1, 2).truncated());
  Asking = Compiler.ask(Runner, 3);
  EXPECT_EQ(T.step(0).sequence(), 0u);
  EXPECT_EQ(T.x(), 3);
  EXPECT_EQ(*T.decide(1, 4, Asking), 4);
}

TEST(GrpcServeTest, OpeningAndClosingDoNotWaitForATrainer) {
  auto Start = Deadline::Clock::now();
  {
    ServedModel Compiler;
    MLModelRunner Runner = Compiler.M->runner();
  }
  EXPECT_LT(Deadline::Clock::now() - Start, seconds(1));
}

TEST(GrpcServeTest, AStepMayBeRepeated) {
  ServedModel Compiler;
  Trainer T(Compiler.address());
  MLModelRunner Runner = Compiler.M->runner();
  for (uint64_t Step = 0; Step < 3; ++Step) {
    auto Asking = Compiler.ask(Runner, int64_t(Step));
    for (int Times = 0; Times < 3; ++Times) {
      T.step(Step, 7);
      EXPECT_EQ(T.x(), int64_t(Step));
      EXPECT_EQ(T.Seen.sequence(), Step);
    }
    EXPECT_EQ(*T.decide(Step + 1, 7, Asking), 7);
  }
}

TEST(GrpcServeTest, AStepIsNotRepeatedWithAnotherAction) {
  ServedModel Compiler;
  Trainer T(Compiler.address()), Other(Compiler.address());
  auto Refused = [&](uint64_t Step, int64_t Y) {
    grpc::Status S = Other.patiently(Other.action(Step, Y));
    EXPECT_EQ(S.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(S.error_message(), "step " + std::to_string(Step) +
                                     " was taken with another action");
  };
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 5);
  T.step(0);
  EXPECT_EQ(*T.decide(1, 6, Asking), 6);
  // Before there is a next observation, when it is there, and at the end.
  Refused(1, 7);
  Asking = Compiler.ask(Runner, 8);
  EXPECT_EQ(T.step(1, 6).sequence(), 1u);
  Refused(1, 7);
  pb::Action Failed;
  Failed.set_step(1);
  Failed.set_failure("out of ideas");
  EXPECT_EQ(Other.call(Failed).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Asking.wait_for(seconds(0)), std::future_status::timeout);
  EXPECT_EQ(T.step(1, 6).sequence(), 1u);
  EXPECT_EQ(T.x(), 8);
  EXPECT_EQ(*T.decide(2, 9, Asking), 9);
  EXPECT_TRUE(Runner.endEpisode().ok());
  EXPECT_EQ(T.step(2, 9).kind(), pb::END);
  Refused(2, 6);
  EXPECT_EQ(T.step(2, 9).kind(), pb::END);
}

TEST(GrpcServeTest, AWrongStepDisturbsNothing) {
  ServedModel Compiler;
  Trainer T(Compiler.address());
  auto Refused = [&](uint64_t Step, const char *Expected) {
    grpc::Status S = T.patiently(T.action(Step, 1));
    EXPECT_EQ(S.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << Step;
    EXPECT_NE(S.error_message().find(Expected), std::string::npos)
        << S.error_message();
  };
  Refused(1, "expected 0");
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 5);
  EXPECT_EQ(T.step(0).sequence(), 0u);
  Refused(2, "expected 1, or 0 again");
  EXPECT_EQ(*T.decide(1, 6, Asking), 6);
  Asking = Compiler.ask(Runner, 8);
  Refused(3, "expected "); // 1, or 2 if it has been seen
  EXPECT_EQ(T.step(1, 6).sequence(), 1u);
  EXPECT_EQ(T.x(), 8);
  Refused(1000, "expected 2, or 1 again");
  EXPECT_EQ(*T.decide(2, 9, Asking), 9);
}

TEST(GrpcServeTest, AWrongActionIsRefusedByNameAndNothingIsLost) {
  ServedModel Compiler;
  Trainer T(Compiler.address());
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 5);
  T.step(0);
  auto Refused = [&](const pb::Action &A, const char *Why) {
    grpc::Status S = T.call(A);
    EXPECT_EQ(S.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << Why;
    EXPECT_NE(S.error_message().find(Why), std::string::npos)
        << S.error_message();
  };
  pb::Action Wrong = T.action(1, 1);
  Wrong.mutable_tensors()->mutable_tensor(0)->set_name("z");
  Refused(Wrong, "z");
  Wrong = T.action(1, 1);
  Wrong.mutable_tensors()->mutable_tensor(0)->set_type(pb::DOUBLE);
  Refused(Wrong, "'y'");
  Wrong = T.action(1, 1);
  Wrong.mutable_tensors()->mutable_tensor(0)->set_shape(0, 2);
  Refused(Wrong, "'y'");
  Wrong.clear_tensors();
  Refused(Wrong, "neither tensors nor a failure");
  EXPECT_EQ(Asking.wait_for(seconds(0)), std::future_status::timeout);
  EXPECT_EQ(*T.decide(1, 6, Asking), 6);
}

TEST(GrpcServeTest, ATrainerMayHaveNoDecision) {
  ServedModel Compiler;
  Trainer T(Compiler.address());
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 5);
  T.step(0);
  pb::Action Failed;
  Failed.set_step(1);
  Failed.set_failure("out of ideas");
  auto Next = std::async(std::launch::async, [&] { return T.call(Failed); });
  Expected<int64_t> Y = Asking.get();
  ASSERT_FALSE(Y);
  EXPECT_EQ(Y.status().code(), StatusCode::PeerError);
  EXPECT_NE(Y.status().message().find("out of ideas"), std::string::npos);
  // The next question is asked all the same.
  Asking = Compiler.ask(Runner, 6);
  EXPECT_TRUE(Next.get().ok());
  EXPECT_EQ(T.x(), 6);
  EXPECT_EQ(*T.decide(2, 7, Asking), 7);
}

TEST(GrpcServeTest, RunnersTakeTurnsAndNoEndIsLost) {
  constexpr int Threads = 4, Decisions = 25;
  ServedModel Compiler;
  Trainer T(Compiler.address());
  std::vector<std::thread> Compiling;
  for (int I = 0; I < Threads; ++I)
    Compiling.emplace_back([&] {
      MLModelRunner Runner = Compiler.M->runner();
      for (int64_t X = 0; X < Decisions; ++X) {
        Runner.populateFeatures(std::pair{"x", X});
        Expected<int64_t> Y = Runner.evaluate<int64_t>();
        ASSERT_TRUE(Y) << Y.status().toString();
        EXPECT_EQ(*Y, X + 1);
        EXPECT_TRUE(Runner.reward(double(X)).ok());
      }
    });
  std::map<unsigned, int64_t> Asked;
  int Ends = 0;
  uint64_t Step = 0;
  T.step(0);
  while (Ends < Threads) {
    EXPECT_EQ(T.Seen.sequence(), Step);
    if (T.Seen.kind() == pb::END) {
      EXPECT_EQ(Asked[T.Seen.runner()], Decisions);
      EXPECT_EQ(T.Seen.reward(), Decisions - 1);
      if (++Ends < Threads)
        T.step(Step = 0);
      continue;
    }
    ASSERT_EQ(T.Seen.kind(), pb::REQUEST);
    EXPECT_EQ(T.x(), Asked[T.Seen.runner()]++);
    T.step(++Step, T.x() + 1);
  }
  EXPECT_EQ(Asked.size(), size_t(Threads));
  for (std::thread &Each : Compiling)
    Each.join();
}

TEST(GrpcServeTest, OverAUnixSocket) {
  Folder In;
  std::string Path = In.file("socket");
  std::string Text = "grpc:unix:" + Path + "?role=server&on_error=fail";
  {
    Expected<Model> M = Model::open(Text, xToY());
    ASSERT_TRUE(M) << M.status().toString();
    EXPECT_EQ(std::filesystem::status(Path).permissions(),
              std::filesystem::perms(0600));
    Expected<Model> Second = Model::open(Text, xToY());
    ASSERT_FALSE(Second);
    EXPECT_EQ(Second.status().code(), StatusCode::Unavailable);
    Trainer T("unix:" + Path);
    MLModelRunner Runner = M->runner();
    auto Asking = std::async(std::launch::async,
                             [&] { return Runner.evaluate<int64_t>(); });
    T.step(0);
    EXPECT_EQ(*T.decide(1, 6, Asking), 6);
  }
  EXPECT_EQ(In.count(), 0u);
  // What others have put there stays.
  std::ofstream(Path) << "mine";
  Expected<Model> M = Model::open(Text, xToY());
  ASSERT_FALSE(M);
  EXPECT_NE(M.status().message().find("not a socket"), std::string::npos);
  EXPECT_EQ(contentOf(Path), "mine");
  EXPECT_EQ(In.count(), 1u);
}

TEST(GrpcServeTest, TheAddressIsAnnouncedWhileItIsServed) {
  Folder In;
  std::string File = In.file("address");
  std::string Text = "grpc:127.0.0.1:0?role=server&on_error=fail&announce=";
  {
    Expected<Model> First = Model::open(Text + File, xToY());
    ASSERT_TRUE(First) << First.status().toString();
    EXPECT_EQ(std::filesystem::status(File).permissions(),
              std::filesystem::perms(0600));
    std::string Line = contentOf(File);
    EXPECT_EQ(Line.rfind("grpc:127.0.0.1:", 0), 0u) << Line;
    EXPECT_NE(Line, "grpc:127.0.0.1:0\n");
    EXPECT_EQ(In.count(), 1u);
    // Somebody else's announcement is not ours to remove.
    Expected<Model> Second = Model::open(Text + File, xToY());
    ASSERT_TRUE(Second) << Second.status().toString();
    std::string Other = contentOf(File);
    EXPECT_NE(Other, Line);
    First = Status::error(StatusCode::Abstained, "closed");
    EXPECT_EQ(contentOf(File), Other);
  }
  EXPECT_EQ(In.count(), 0u);
  Expected<Model> M = Model::open(Text + In.file("no/where"), xToY());
  ASSERT_FALSE(M);
  EXPECT_NE(M.status().message().find("no/where: "), std::string::npos)
      << M.status().toString();
  // Nor a name that nobody has given.
  EXPECT_EQ(M.status().message().find("no/where."), std::string::npos)
      << M.status().toString();
}

TEST(GrpcServeTest, AnAnnouncementReplacesNothingElse) {
  namespace fs = std::filesystem;
  Folder In;
  std::string File = In.file("address");
  auto Open = [&] {
    return Model::open(
        "grpc:127.0.0.1:0?role=server&on_error=fail&announce=" + File, xToY());
  };
  auto Refused = [&](const char *What) {
    fs::file_type Before = fs::symlink_status(File).type();
    size_t Count = In.count();
    {
      Expected<Model> M = Open();
      ASSERT_FALSE(M) << What;
      EXPECT_EQ(M.status().code(), StatusCode::Io) << What;
      EXPECT_NE(M.status().message().find(
                    File + " is in the way and is no announcement of ours"),
                std::string::npos)
          << M.status().toString();
    }
    EXPECT_EQ(fs::symlink_status(File).type(), Before) << What;
    EXPECT_EQ(In.count(), Count) << What;
  };
  for (const char *Text : {"mine", "grpc", "a line\ngrpc:127.0.0.1:1\n"}) {
    std::ofstream(File) << Text;
    Refused(Text);
    EXPECT_EQ(contentOf(File), Text);
    fs::remove(File);
  }
  ASSERT_EQ(::mkfifo(File.c_str(), 0600), 0);
  Refused("a FIFO");
  fs::remove(File);
  fs::create_directory(File);
  Refused("a directory");
  fs::remove(File);
  // Not even one that leads to an announcement, or nowhere.
  fs::create_symlink(In.file("other"), File);
  Refused("a link to nothing");
  std::ofstream(In.file("other")) << "grpc:127.0.0.1:1\n";
  Refused("a link");
  EXPECT_EQ(contentOf(In.file("other")), "grpc:127.0.0.1:1\n");
  fs::remove(File);
  fs::remove(In.file("other"));
  // What a compiler that died has left, and what mktemp makes.
  for (const char *Text : {"", "grpc:127.0.0.1:1\n"}) {
    std::ofstream(File) << Text;
    {
      Expected<Model> M = Open();
      ASSERT_TRUE(M) << M.status().toString();
      EXPECT_EQ(contentOf(File).rfind("grpc:127.0.0.1:", 0), 0u);
      EXPECT_NE(contentOf(File), Text);
    }
    EXPECT_EQ(In.count(), 0u);
  }
}

TEST(GrpcServeTest, OptionsThatMakeNoSense) {
  for (const char *Text :
       {"grpc:127.0.0.1:0?role=boss", "grpc:127.0.0.1:1?announce=/x",
        "grpc:127.0.0.1:1?role=client&announce=/x",
        "grpc:127.0.0.1:0?role=server&announce=",
        "grpc:127.0.0.1:0?role=server&spawn=true",
        "grpc:127.0.0.1:0?role=server&connect=1s",
        "grpc:127.0.0.1:0?role=server&serdes=json",
        "grpc:127.0.0.1:0?role=server&mode=unary",
        "grpc:127.0.0.1:0?role=server&tls_name=x",
        "grpc:127.0.0.1:0?role=server&timeout=0s", "grpc:?role=server",
        "grpc:0.0.0.0:0?role=server", "grpc:127.0.0.1:0?role=server"}) {
    Expected<Model> M = Model::open(Text, xToY());
    ASSERT_FALSE(M) << Text;
    EXPECT_EQ(M.status().code(), StatusCode::InvalidArgument)
        << M.status().toString();
  }
}

TEST(GrpcServeTest, OnlyThoseWithTheToken) {
  Folder In;
  std::ofstream(In.file("token")) << "secret\n";
  ServedModel Compiler("token_file=" + In.file("token"));
  Trainer T(Compiler.address());
  for (const char *Token : {"", "public"}) {
    T.Token = Token;
    EXPECT_EQ(T.call(T.action(0)).error_code(),
              grpc::StatusCode::UNAUTHENTICATED);
  }
  T.Token = "secret";
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 5);
  EXPECT_EQ(T.step(0).sequence(), 0u);
  EXPECT_EQ(*T.decide(1, 6, Asking), 6);
}
