//===- GrpcDialTest.cpp - A peer with role=client -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Peer.h>

#include "modules/grpc/ServedModel.h"

#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::test;

/// A trainer that adds 1, and remembers.
class DialingPeer {
public:
  explicit DialingPeer(const std::vector<std::string> &Addresses,
                       PeerOptions Options = PeerOptions()) {
    Options.OnSessionError = [this](const Status &Why) {
      Errors.push_back(Why);
    };
    P.emplace(Peer::open(Addresses, std::move(Options)));
    EXPECT_TRUE(*P) << P->status().toString();
  }
  /// Serves until so many episodes have ended; false if that takes too long.
  bool serve(size_t Episodes) {
    Deadline Until = Deadline::in(seconds(30));
    while (Ends.size() < Episodes) {
      auto R = (*P)->next(Until);
      if (!R) {
        Last = R.status();
        return false;
      }
      if ((*R)->done()) {
        Ends.push_back(*R);
        continue;
      }
      Seen.push_back(*R);
      int64_t Y = (*R)->feature(0).as<int64_t>()[0] + 1;
      std::memcpy((*P)->decision().bytes(0).data(), &Y, sizeof(Y));
      EXPECT_TRUE((*P)->reply().ok());
    }
    return true;
  }

  std::vector<std::shared_ptr<const Request>> Seen, Ends;
  std::vector<Status> Errors;
  Status Last;
  std::optional<Expected<Peer>> P;
};

/// One episode of so many decisions.
static void compile(const Model &M, int64_t Decisions, const char *Context) {
  MLModelRunner Runner = M.runner();
  Runner.switchContext(Context);
  for (int64_t X = 0; X < Decisions; ++X) {
    Runner.populateFeatures(std::pair{"x", X});
    Expected<int64_t> Y = Runner.evaluate<int64_t>();
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, X + 1);
    EXPECT_TRUE(Runner.reward(double(X)).ok());
  }
}

static std::string dial(const ServedModel &To) {
  return "grpc:" + To.address() + "?role=client";
}

TEST(GrpcDialTest, SocketsOfAnyName) {
  for (const char *Name : OddNames) {
    Folder In;
    std::string Path = In.file(Name), File = In.file("address");
    std::string Address = "grpc:" + RunnerString::escape("unix:" + Path);
    std::string Text = Address + "?role=server&on_error=fail&announce=";
    Expected<Model> M = Model::open(Text += File, xToY());
    ASSERT_TRUE(M) << Name << ": " << M.status().toString();
    EXPECT_EQ(std::filesystem::status(Path).permissions(),
              std::filesystem::perms(0600))
        << Name;
    EXPECT_EQ(contentOf(File), Address + "\n");
    for (const std::string &To :
         {Address + "?role=client", "grpc:?role=client&announce=" + File}) {
      DialingPeer Peer({To});
      std::thread Compiling([&] { compile(*M, 2, "f"); });
      EXPECT_TRUE(Peer.serve(1)) << Name << ": " << Peer.Last.toString();
      Compiling.join();
    }
  }
}

TEST(GrpcDialTest, EpisodesOfOneCompilerAreOneSession) {
  ServedModel Compiler;
  std::thread Compiling([&] {
    for (const char *Context : {"fib", "main"})
      compile(*Compiler.M, 5, Context);
  });
  DialingPeer Peer({dial(Compiler)});
  EXPECT_TRUE(Peer.serve(2)) << Peer.Last.toString();
  Compiling.join();
  ASSERT_EQ(Peer.Seen.size(), 10u);
  for (size_t I = 0; I < 10; ++I) {
    const Request &R = *Peer.Seen[I];
    EXPECT_EQ(R.session(), Peer.Seen[0]->session());
    EXPECT_EQ(R.runner(), I / 5 + 1);
    EXPECT_EQ(R.context(), I < 5 ? "fib" : "main");
    EXPECT_EQ(R.reward(),
              I % 5 ? std::optional<double>(double(I % 5 - 1)) : std::nullopt);
    EXPECT_EQ(R.signature(), xToY());
  }
  for (const auto &End : Peer.Ends) {
    EXPECT_FALSE(End->truncated());
    EXPECT_EQ(End->reward(), 4);
  }
  EXPECT_TRUE(Peer.Errors.empty());
}

TEST(GrpcDialTest, ASessionEndsWithItsCompiler) {
  Folder In;
  std::string File = In.file("address");
  PeerOptions Two;
  Two.Sessions = 2;
  // The file is not there yet.
  DialingPeer Peer({"grpc:?role=client&announce=" + File}, Two);
  std::thread Compiling([&] {
    for (int Times = 0; Times < 2; ++Times) {
      Expected<Model> M = Model::open(
          "grpc:127.0.0.1:0?role=server&on_error=fail&announce=" + File,
          xToY());
      ASSERT_TRUE(M) << M.status().toString();
      compile(*M, 3, "fib");
    }
  });
  EXPECT_FALSE(Peer.serve(3));
  Compiling.join();
  EXPECT_EQ(Peer.Last.code(), StatusCode::PeerClosed) << Peer.Last.toString();
  ASSERT_EQ(Peer.Ends.size(), 2u);
  EXPECT_NE(Peer.Ends[0]->session(), Peer.Ends[1]->session());
  EXPECT_FALSE(Peer.Ends[0]->truncated() || Peer.Ends[1]->truncated());
  EXPECT_TRUE(Peer.Errors.empty());
}

TEST(GrpcDialTest, ThreadsOfACompilerAreToldApart) {
  ServedModel Compiler;
  DialingPeer Peer({dial(Compiler)});
  std::vector<std::thread> Compiling;
  for (int I = 0; I < 4; ++I)
    Compiling.emplace_back([&] { compile(*Compiler.M, 20, "fib"); });
  EXPECT_TRUE(Peer.serve(4)) << Peer.Last.toString();
  for (std::thread &Each : Compiling)
    Each.join();
  EXPECT_EQ(Peer.Seen.size(), 80u);
  for (const auto &End : Peer.Ends)
    EXPECT_EQ(End->reward(), 19);
}

TEST(GrpcDialTest, ManyCompilersAtOnce) {
  std::vector<std::unique_ptr<ServedModel>> Compilers;
  std::vector<std::string> Addresses;
  std::vector<std::thread> Compiling;
  for (int I = 0; I < 8; ++I) {
    Compilers.push_back(std::make_unique<ServedModel>());
    Addresses.push_back(dial(*Compilers.back()));
  }
  DialingPeer Peer(Addresses);
  for (const auto &Each : Compilers)
    Compiling.emplace_back([&] { compile(*Each->M, 20, "fib"); });
  EXPECT_TRUE(Peer.serve(8)) << Peer.Last.toString();
  for (std::thread &Each : Compiling)
    Each.join();
  std::vector<size_t> Count(8);
  for (const auto &R : Peer.Seen)
    ++Count[R->address()];
  EXPECT_EQ(Count, std::vector<size_t>(8, 20));
}

TEST(GrpcDialTest, AFailureIsToldAndTheNextQuestionComes) {
  ServedModel Compiler;
  DialingPeer Peer({dial(Compiler)});
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 1);
  ASSERT_TRUE((*Peer.P)->next(Deadline::in(seconds(10))));
  EXPECT_TRUE((*Peer.P)->fail("out of \xFFideas").ok());
  Expected<int64_t> Y = Asking.get();
  ASSERT_FALSE(Y);
  EXPECT_EQ(Y.status().code(), StatusCode::PeerError);
  EXPECT_NE(Y.status().message().find("out of ?ideas"), std::string::npos);
  std::thread Compiling([&] {
    Runner.populateFeatures(std::pair{"x", 4});
    EXPECT_EQ(*Runner.evaluate<int64_t>(), 5);
    EXPECT_TRUE(Runner.endEpisode().ok());
  });
  EXPECT_TRUE(Peer.serve(1)) << Peer.Last.toString();
  Compiling.join();
}

TEST(GrpcDialTest, ACompilerThatDoesNotFitIsTold) {
  ServedModel Compiler;
  PeerOptions Expects;
  Expects.Expects = Signature({TensorSpec::create<float>("x")}, {});
  DialingPeer Peer({dial(Compiler)}, Expects);
  MLModelRunner Runner = Compiler.M->runner();
  for (int Times = 0; Times < 2; ++Times) {
    auto Asking = Compiler.ask(Runner, 1);
    while (Asking.wait_for(seconds(0)) != std::future_status::ready)
      EXPECT_FALSE((*Peer.P)->next(Deadline::in(milliseconds(10))));
    Expected<int64_t> Y = Asking.get();
    ASSERT_FALSE(Y);
    EXPECT_EQ(Y.status().code(), StatusCode::PeerError);
    EXPECT_NE(Y.status().message().find("peer wants float"), std::string::npos)
        << Y.status().toString();
  }
  EXPECT_GE(Peer.Errors.size(), 2u);
}

TEST(GrpcDialTest, APeerThatComesBackGoesOn) {
  ServedModel Compiler;
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 1);
  {
    DialingPeer First({dial(Compiler)});
    ASSERT_TRUE((*First.P)->next(Deadline::in(seconds(10))));
  } // without a reply
  DialingPeer Second({dial(Compiler)});
  std::thread Compiling([&] {
    EXPECT_EQ(*Asking.get(), 2);
    EXPECT_TRUE(Runner.endEpisode().ok());
  });
  EXPECT_TRUE(Second.serve(1)) << Second.Last.toString();
  Compiling.join();
}

TEST(GrpcDialTest, TheLastWordOfAPeerIsHeard) {
  ServedModel Compiler;
  MLModelRunner Runner = Compiler.M->runner();
  for (int Times = 0; Times < 4; ++Times) {
    auto Asking = Compiler.ask(Runner, 1);
    {
      DialingPeer Peer({dial(Compiler)});
      ASSERT_TRUE((*Peer.P)->next(Deadline::in(seconds(10))));
      EXPECT_TRUE((*Peer.P)->fail("no more").ok());
    }
    Expected<int64_t> Y = Asking.get();
    ASSERT_FALSE(Y);
    EXPECT_EQ(Y.status().code(), StatusCode::PeerError)
        << Y.status().toString();
  }
}

TEST(GrpcDialTest, AKilledCompilerCutsItsEpisodeShort) {
  // gRPC does not survive a fork, so the compiler is this program again.
  static const char *const AsCompiler = "CBRIDGE_TEST_COMPILER";
  if (const char *File = ::getenv(AsCompiler)) {
    Expected<Model> M = Model::open(
        std::string("grpc:127.0.0.1:0?role=server&announce=") + File, xToY());
    compile(*M, 1, "fib");
    MLModelRunner Runner = M->runner();
    for (;;)
      if (!Runner.evaluate<int64_t>())
        return;
  }
  for (bool Replies : {true, false}) {
    Folder In;
    std::string Variable = AsCompiler + ("=" + In.file("address"));
    pid_t Child = ::fork();
    if (Child == 0) {
      char Self[] = "/proc/self/exe";
      std::string Filter = "--gtest_filter=*AKilledCompilerCutsItsEpisodeShort";
      char *Arguments[] = {Self, Filter.data(), nullptr};
      ::putenv(Variable.data());
      ::execv(Self, Arguments);
      ::_exit(127);
    }
    DialingPeer Peer({"grpc:?role=client&announce=" + In.file("address")});
    EXPECT_TRUE(Peer.serve(1)) << Peer.Last.toString();
    EXPECT_FALSE(Peer.Ends[0]->truncated());
    ASSERT_TRUE((*Peer.P)->next(Deadline::in(seconds(10))));
    ASSERT_EQ(::kill(Child, SIGKILL), 0);
    ::waitpid(Child, nullptr, 0);
    if (Replies) {
      (void)(*Peer.P)->reply();
      EXPECT_TRUE(Peer.serve(2)) << Peer.Last.toString();
    } else {
      ASSERT_TRUE(
          (*Peer.P)->nextBatch(Deadline::in(seconds(30)), Peer.Ends).ok());
    }
    ASSERT_EQ(Peer.Ends.size(), 2u);
    EXPECT_TRUE(Peer.Ends[1]->truncated());
    ASSERT_EQ(Peer.Errors.size(), 1u);
    EXPECT_EQ(Peer.Errors[0].code(), StatusCode::PeerClosed)
        << Peer.Errors[0].toString();
  }
}

TEST(GrpcDialTest, AForkedChildLeavesTheCompilerAlone) {
  ServedModel Compiler;
  MLModelRunner Runner = Compiler.M->runner();
  auto Asking = Compiler.ask(Runner, 1);
  DialingPeer Peer({dial(Compiler)});
  ASSERT_TRUE((*Peer.P)->next(Deadline::in(seconds(10))));
  pid_t Child = ::fork();
  if (Child == 0) {
    ::alarm(10);
    Peer.P.reset();
    ::_exit(0);
  }
  int How = -1;
  ::waitpid(Child, &How, 0);
  EXPECT_EQ(How, 0);
  int64_t Y = 2;
  std::memcpy((*Peer.P)->decision().bytes(0).data(), &Y, sizeof(Y));
  EXPECT_TRUE((*Peer.P)->reply().ok());
  EXPECT_EQ(*Asking.get(), 2);
}

TEST(GrpcDialTest, AWrongTokenIsAnError) {
  Folder In;
  std::ofstream(In.file("token")) << "secret";
  std::ofstream(In.file("other")) << "public";
  ServedModel Compiler("token_file=" + In.file("token"));
  std::string To = dial(Compiler) + "&token_file=";
  DialingPeer Wrong({To + In.file("other")});
  EXPECT_FALSE(Wrong.serve(1));
  EXPECT_EQ(Wrong.Last.code(), StatusCode::Unavailable);
  EXPECT_NE(Wrong.Last.message().find("refuses"), std::string::npos);
  DialingPeer Right({To + In.file("token")});
  std::thread Compiling([&] { compile(*Compiler.M, 3, "fib"); });
  EXPECT_TRUE(Right.serve(1)) << Right.Last.toString();
  Compiling.join();
}

TEST(GrpcDialTest, AddressesThatMakeNoSense) {
  for (const char *Address :
       {"grpc:127.0.0.1:0?role=client", "grpc:127.0.0.1:1?role=boss",
        "grpc:?role=client", "grpc:?role=client&announce=",
        "grpc:127.0.0.1:1?role=client&announce=/x",
        "grpc:127.0.0.1:0?announce=/x", "grpc:127.0.0.1:0?tls_name=x"}) {
    Expected<Peer> P = Peer::open(Address);
    ASSERT_FALSE(P) << Address;
    EXPECT_EQ(P.status().code(), StatusCode::InvalidArgument)
        << P.status().toString();
  }
  Folder In;
  std::ofstream(In.file("address")) << "shm:x\n";
  DialingPeer Peer({"grpc:?role=client&announce=" + In.file("address")});
  EXPECT_FALSE(Peer.serve(1));
  EXPECT_EQ(Peer.Last.code(), StatusCode::Io) << Peer.Last.toString();
}
