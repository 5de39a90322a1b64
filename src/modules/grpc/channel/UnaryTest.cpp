//===- UnaryTest.cpp - grpc: with mode=unary ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/EchoPeer.h"
#include "modules/grpc/Grpc.h"
#include "modules/grpc/channel/UnaryConnection.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <mutex>

using namespace cbridge;
using namespace cbridge::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

grpc::ByteBuffer bufferOf(const std::string &Text) {
  grpc::Slice Whole(Text);
  return {&Whole, 1};
}

std::string textOf(const grpc::ByteBuffer &Buffer) {
  std::vector<grpc::Slice> Slices;
  std::string All;
  if (Buffer.Dump(&Slices).ok())
    for (const grpc::Slice &S : Slices)
      All.append(reinterpret_cast<const char *>(S.begin()), S.size());
  return All;
}

/// Somebody else's call of getAdvice at Address.
grpc::Status callAdvice(const std::string &Address, const std::string &Asked) {
  auto Over = grpc::CreateChannel(Address.substr(sizeof("grpc:") - 1),
                                  grpc::InsecureChannelCredentials());
  grpc::CompletionQueue Queue;
  grpc::ClientContext Context;
  Context.set_deadline(grpcTime(Deadline::in(seconds(10))));
  auto Call = grpc::GenericStub(Over).PrepareUnaryCall(&Context, AdviceMethod,
                                                       bufferOf(Asked), &Queue);
  grpc::ByteBuffer Answer;
  grpc::Status End;
  Call->StartCall();
  Call->Finish(&Answer, &End, nullptr);
  void *Tag;
  bool Ok;
  Queue.Next(&Tag, &Ok);
  Queue.Shutdown();
  while (Queue.Next(&Tag, &Ok)) {
  }
  return End;
}

std::string encoded(FrameKind Kind, uint64_t Session, uint64_t Sequence) {
  FrameMessage Format;
  FrameHeader H;
  H.Kind = Kind;
  H.Session = Session;
  H.Sequence = Sequence;
  unsigned char To[FrameMessage::MaxHeader];
  size_t Size = Format.encode(H, {}, To);
  return {reinterpret_cast<char *>(To), Size};
}

/// A server of somebody else's: it has getAdvice and nothing more, and serves
/// one call after the other.
class PlainServer {
public:
  using Answer =
      std::function<grpc::Status(const std::string &Asked, std::string &To)>;
  explicit PlainServer(Answer Given, int At = 0) : By(std::move(Given)) {
    grpc::ServerBuilder Builder;
    Builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    Builder.AddListeningPort("127.0.0.1:" + std::to_string(At),
                             grpc::InsecureServerCredentials(), &Port);
    Builder.RegisterAsyncGenericService(&Service);
    Queue = Builder.AddCompletionQueue();
    Server = Builder.BuildAndStart();
    EXPECT_TRUE(Server);
    Thread = std::thread([this] {
      while (serve()) {
      }
    });
  }
  ~PlainServer() {
    Server->Shutdown(gpr_time_0(GPR_CLOCK_MONOTONIC));
    Thread.join();
    Queue->Shutdown();
    (void)step();
  }
  std::string address() const {
    return "grpc:127.0.0.1:" + std::to_string(Port);
  }

  int Port = 0;

private:
  bool step() {
    void *Tag;
    bool Ok;
    return Queue->Next(&Tag, &Ok) && Ok;
  }
  bool serve() {
    grpc::GenericServerContext Context;
    grpc::GenericServerAsyncReaderWriter Stream(&Context);
    Service.RequestCall(&Context, &Stream, Queue.get(), Queue.get(), this);
    if (!step())
      return false;
    grpc::Status End(grpc::StatusCode::UNIMPLEMENTED, "Method not found!");
    grpc::ByteBuffer In;
    std::string Out;
    if (Context.method() == AdviceMethod) {
      Stream.Read(&In, this);
      End = step() ? By(textOf(In), Out) : grpc::Status::CANCELLED;
    }
    if (End.ok())
      Stream.WriteAndFinish(bufferOf(Out), grpc::WriteOptions(), End, this);
    else
      Stream.Finish(End, this);
    (void)step();
    return true;
  }

  Answer By;
  grpc::AsyncGenericService Service;
  std::unique_ptr<grpc::ServerCompletionQueue> Queue;
  std::unique_ptr<grpc::Server> Server;
  std::thread Thread;
};

/// y = 7 as an Advice that has nothing but tensors.
std::string seven() {
  TensorStorage Y(oneNumber().outputs());
  int64_t Value = 7;
  std::memcpy(Y.bytes(0).data(), &Value, sizeof(Value));
  // Tensors { Tensor { type, shape, data } }, field 9 of the Advice.
  std::string Tensor = "\x10\x05\x1a\x01\x01\x2a\x08";
  Tensor.append(reinterpret_cast<char *>(&Value), sizeof(Value));
  std::string Tensors = "\x0a" + std::string(1, char(Tensor.size())) + Tensor;
  return "\x4a" + std::string(1, char(Tensors.size())) + Tensors;
}

Model opened(const std::string &Runner) {
  Expected<Model> M = Model::open(Runner, oneNumber());
  EXPECT_TRUE(M) << M.status().toString();
  return M ? *M : *Model::open("heuristic:", oneNumber());
}

Expected<int64_t> ask(MLModelRunner &Runner, int64_t X) {
  Runner.populateFeatures(std::pair{"x", X});
  return Runner.evaluate<int64_t>();
}

} // namespace

TEST(UnaryTest, EachDecisionIsACallOfTheSession) {
  EchoPeer Peer("grpc:127.0.0.1:0");
  for (const char *Serdes : {"protobuf", "bitstream", "json"}) {
    Model M = opened(Peer.address() + "?mode=unary&serdes=" + Serdes);
    MLModelRunner First = M.runner(), Second = M.runner();
    for (int64_t X : {1, 2, 3})
      for (MLModelRunner *Runner : {&First, &Second}) {
        Expected<int64_t> Y = ask(*Runner, X);
        ASSERT_TRUE(Y) << Y.status().toString();
        EXPECT_EQ(*Y, X);
      }
  }
}

TEST(UnaryTest, ContextsRewardsAndEndsComeInOrder) {
  PeerOptions Once;
  Once.Sessions = 1;
  Expected<Peer> P = Peer::open("grpc:127.0.0.1:0", Once);
  ASSERT_TRUE(P) << P.status().toString();
  std::string Seen;
  std::thread Serving([&] {
    while (auto R = P->next(Deadline::in(seconds(30)))) {
      int64_t X = (*R)->feature(0).as<int64_t>()[0];
      Seen +=
          std::string((*R)->context()) + std::to_string(X) +
          ((*R)->reward() ? "+" + std::to_string(int(*(*R)->reward())) : "") +
          ((*R)->done() ? (*R)->truncated() ? "cut " : "end " : " ");
      if ((*R)->done())
        continue;
      if (X == 3) {
        EXPECT_TRUE(P->fail("not three").ok());
        continue;
      }
      std::memcpy(P->decision().bytes(0).data(), &X, sizeof(X));
      EXPECT_TRUE(P->reply().ok());
    }
  });
  {
    Model M = opened(P->address() + "?mode=unary");
    MLModelRunner Runner = M.runner();
    Runner.switchContext("f");
    EXPECT_TRUE(ask(Runner, 1));
    EXPECT_TRUE(Runner.reward(5).ok());
    EXPECT_TRUE(ask(Runner, 2));
    EXPECT_TRUE(Runner.endEpisode().ok());
    Runner.switchContext("g");
    EXPECT_EQ(ask(Runner, 3).status().code(), StatusCode::PeerError);
    EXPECT_TRUE(ask(Runner, 4));
    EXPECT_TRUE(Runner.reward(6).ok());
    EXPECT_TRUE(Runner.endEpisode().ok());
  }
  Serving.join();
  EXPECT_EQ(Seen, "f1 f2+5 f2end g3 g4 g4+6end ");
}

TEST(UnaryTest, NobodyElseGetsIntoASession) {
  EchoPeer Peer("grpc:127.0.0.1:0");
  Model M = opened(Peer.address() + "?mode=unary");
  MLModelRunner Runner = M.runner();
  EXPECT_TRUE(ask(Runner, 1));
  // Without its number, which is chosen at random, a session is not found.
  for (uint64_t Session : {0, 1, 4711})
    EXPECT_EQ(
        callAdvice(Peer.address(), encoded(FrameKind::Request, Session, 2))
            .error_code(),
        grpc::StatusCode::FAILED_PRECONDITION);
  for (FrameKind Kind : {FrameKind::Hello, FrameKind::Bye, FrameKind::Context,
                         FrameKind::Reply, FrameKind(0)})
    EXPECT_EQ(callAdvice(Peer.address(), encoded(Kind, 4711, 2)).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(callAdvice(Peer.address(), "garbage").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(ask(Runner, 2));
}

TEST(UnaryTest, APeerThatGoesIsAnError) {
  auto Peer = std::make_unique<EchoPeer>("grpc:127.0.0.1:0");
  Model M = opened(Peer->address() + "?mode=unary&timeout=5s");
  MLModelRunner Runner = M.runner();
  EXPECT_TRUE(ask(Runner, 1));
  Peer.reset();
  auto Start = Deadline::Clock::now();
  EXPECT_EQ(ask(Runner, 2).status().code(), StatusCode::PeerClosed);
  EXPECT_LT(Deadline::Clock::now() - Start, seconds(2));
}

TEST(UnaryTest, ModesThatAreNone) {
  EXPECT_EQ(askOnce("grpc:127.0.0.1:1?mode=both").code(),
            StatusCode::InvalidArgument);
}

TEST(UnaryTest, AServerThatHasOnlyGetAdvice) {
  std::mutex Using;
  std::string Asked;
  PlainServer Server([&](const std::string &Came, std::string &To) {
    std::lock_guard<std::mutex> Lock(Using);
    Asked = Came;
    To = seven();
    return grpc::Status::OK;
  });
  Status S = askOnce(Server.address() + "?on_error=fail");
  EXPECT_TRUE(S.isTransport()) << S.toString();
  EXPECT_NE(S.message().find("mode=unary"), std::string::npos);
  Model M = opened(Server.address() + "?mode=unary");
  MLModelRunner Runner = M.runner();
  Runner.switchContext("a function");
  for (uint64_t I = 1; I <= 3; ++I) {
    Expected<int64_t> Y = ask(Runner, 40);
    ASSERT_TRUE(Y) << Y.status().toString();
    EXPECT_EQ(*Y, 7);
    FrameMessage Format;
    FrameMessage::Unary By;
    std::lock_guard<std::mutex> Lock(Using);
    // A decoder that has seen no hello knows no field for its tensors.
    Expected<Frame> F = Format.decode(
        {reinterpret_cast<const unsigned char *>(Asked.data()), Asked.size()},
        &By);
    EXPECT_FALSE(F);
    EXPECT_EQ(By.Context, "a function");
    EXPECT_NE(F.status().message().find("field 9"), std::string::npos)
        << F.status().toString();
  }
  EXPECT_TRUE(Runner.endEpisode().ok());
  EXPECT_TRUE(ask(Runner, 1));
}

TEST(UnaryTest, APlainServerThatRaisesIsAskedAgain) {
  std::atomic<int> Calls{0};
  PlainServer Server([&](const std::string &, std::string &To) {
    To = seven();
    return ++Calls == 2 ? grpc::Status(grpc::StatusCode::UNKNOWN, "oh no")
                        : grpc::Status::OK;
  });
  Model M = opened(Server.address() + "?mode=unary");
  MLModelRunner Runner = M.runner();
  EXPECT_TRUE(ask(Runner, 1));
  Status S = ask(Runner, 2).status();
  EXPECT_EQ(S.code(), StatusCode::PeerError) << S.toString();
  EXPECT_NE(S.message().find("oh no"), std::string::npos);
  EXPECT_EQ(Calls, 2) << "it was asked again for the same decision";
  EXPECT_TRUE(ask(Runner, 3));
}

TEST(UnaryTest, APlainServerThatIsNotReadyIsTriedAgain) {
  std::mutex Using;
  std::vector<std::string> Asked;
  PlainServer Server([&](const std::string &Came, std::string &To) {
    std::lock_guard<std::mutex> Lock(Using);
    Asked.push_back(Came);
    To = seven();
    return Asked.size() % 4 ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "")
                            : grpc::Status::OK;
  });
  Model M = opened(Server.address() + "?mode=unary");
  MLModelRunner Runner = M.runner();
  auto Start = Deadline::Clock::now();
  Expected<int64_t> Y = ask(Runner, 1);
  EXPECT_TRUE(Y) << Y.status().toString();
  EXPECT_GE(Deadline::Clock::now() - Start, milliseconds(10 + 20 + 40));
  EXPECT_LT(Deadline::Clock::now() - Start, seconds(3));
  std::lock_guard<std::mutex> Lock(Using); // what gRPC orders, tsan misses
  ASSERT_EQ(Asked.size(), 4u);
  for (const std::string &Each : Asked)
    EXPECT_EQ(Each, Asked[0]) << "another request than the first";
}

TEST(UnaryTest, APlainServerMayRestart) {
  auto Seven = [](const std::string &, std::string &To) {
    To = seven();
    return grpc::Status::OK;
  };
  auto Server = std::make_unique<PlainServer>(Seven);
  Model M = opened(Server->address() + "?mode=unary&timeout=20s");
  MLModelRunner Runner = M.runner();
  for (int64_t I = 0; I < 3; ++I) {
    EXPECT_TRUE(ask(Runner, I));
    int Port = Server->Port;
    Server.reset(); // the next question begins while it is away
    std::atomic<bool> Asking{false};
    std::thread Restarting([&] {
      while (!Asking)
        std::this_thread::yield();
      Server = std::make_unique<PlainServer>(Seven, Port);
    });
    auto Start = Deadline::Clock::now();
    Asking = true;
    Expected<int64_t> Y = ask(Runner, I);
    EXPECT_TRUE(Y) << Y.status().toString();
    EXPECT_LT(Deadline::Clock::now() - Start, seconds(5));
    Restarting.join();
  }
}

TEST(UnaryTest, OneDeadlineForAllTries) {
  auto Server =
      std::make_unique<PlainServer>([](const std::string &, std::string &To) {
        To = seven();
        return grpc::Status::OK;
      });
  Model M = opened(Server->address() + "?mode=unary&timeout=400ms");
  MLModelRunner Runner = M.runner();
  EXPECT_TRUE(ask(Runner, 1));
  Server.reset();
  auto Start = Deadline::Clock::now();
  Status S = ask(Runner, 2).status();
  EXPECT_EQ(S.code(), StatusCode::Timeout) << S.toString();
  EXPECT_GE(Deadline::Clock::now() - Start, milliseconds(390));
  EXPECT_LT(Deadline::Clock::now() - Start, milliseconds(1000));
}

TEST(UnaryTest, WhatAPlainServerMustNotSay) {
  for (const std::string &Wrong :
       {std::string("garbage"), std::string(), std::string("\x11wrong-session"),
        "\x18\x63" + seven(), std::string("\x4a\x02\x0a\x00", 4)}) {
    PlainServer Server([&](const std::string &, std::string &To) {
      To = Wrong;
      return grpc::Status::OK;
    });
    Status S = askOnce(Server.address() + "?mode=unary");
    // Of a message that cannot be read, of another one.
    EXPECT_TRUE(S.code() == StatusCode::PeerError ||
                S.code() == StatusCode::Protocol ||
                S.code() == StatusCode::TypeMismatch)
        << S.toString();
  }
}

TEST(UnaryTest, AWrongAdviceCostsOneDecision) {
  std::atomic<int> Asked{0};
  PlainServer Server([&](const std::string &, std::string &To) {
    To = Asked++ == 0 ? std::string() : seven();
    return grpc::Status::OK;
  });
  Expected<Model> M =
      Model::open(Server.address() + "?mode=unary", oneNumber());
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner R = M->runner();
  R.getTensor<int64_t>(0)[0] = 1;
  Expected<int64_t> First = R.evaluate<int64_t>();
  EXPECT_EQ(First.status().code(), StatusCode::PeerError);
  Expected<int64_t> Second = R.evaluate<int64_t>();
  ASSERT_TRUE(Second) << Second.status().toString();
  EXPECT_EQ(*Second, 7);
}
