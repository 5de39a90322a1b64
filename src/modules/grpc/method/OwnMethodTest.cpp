//===- OwnMethodTest.cpp - role=server with messages of one's own ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/Grpc.h"
#include "modules/grpc/method/Methods.h"

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <grpcpp/generic/generic_stub.h>

#include <filesystem>
#include <future>

using namespace cbridge;

/// One number each way, as text; no step. The end of an episode is "end", if
/// it can be told.
class NumberMessages : public MethodMessages {
public:
  explicit NumberMessages(bool TellsEnds) : TellsEnds(TellsEnds) {}
  Status encode(Span<const TensorView> Features, const Told &Beside,
                Message &To) override {
    std::string Text = Beside.Terminated || Beside.Truncated
                           ? "end"
                           : std::to_string(Features[0].as<int64_t>()[0]);
    To.clear();
    std::memcpy(To.room(Text.size()), Text.data(), Text.size());
    To.wrote(Text.size());
    return Status();
  }
  Expected<Answered> decode(Bytes From, DecodedTensors &To) override {
    std::string Text(From.begin(), From.end());
    if (Text.empty() || Text.find_first_not_of("0123456789") != Text.npos)
      return Status::error(StatusCode::Protocol, "'y' is no number");
    int64_t Y = std::stoll(Text);
    if (!To.Backing.reserve(sizeof(Y), 0))
      return Status::error(StatusCode::OutOfMemory, "no memory");
    std::memcpy(To.Backing.data(), &Y, sizeof(Y));
    int64_t One = 1;
    To.set(0, {&One, 1}, {To.Backing.data(), sizeof(Y)});
    return Answered();
  }
  bool tellsEnds() const override { return TellsEnds; }

private:
  const bool TellsEnds;
};

class OwnMethodTest : public testing::Test {
protected:
  void open(bool TellsEnds = true, bool Streams = false) {
    Method M;
    M.Path = "/own.Game/play";
    M.Steps = false;
    M.Streams = Streams;
    M.NewMessages = [TellsEnds] {
      return std::make_unique<NumberMessages>(TellsEnds);
    };
    Socket = std::filesystem::temp_directory_path() /
             ("cbridge-own-" + std::to_string(::getpid()));
    Expected<RunnerString> R =
        RunnerString::parse("grpc:unix:" + Socket + "?role=server&timeout=20s");
    Signature Sig({TensorSpec::create<int64_t>("x")},
                  TensorSpec::create<int64_t>("y"));
    Source = serveMethod(*R, Sig, std::move(M));
    if (!Source)
      return;
    Engines.push_back(std::move(*(*Source)()));
    Channel = grpc::CreateChannel("unix:" + Socket,
                                  grpc::InsecureChannelCredentials());
  }
  std::future<int64_t> ask(int64_t X) {
    return std::async(std::launch::async, [this, X] {
      Engine &E = *Engines[0];
      std::memcpy(E.input(0).data(), &X, sizeof(X));
      Status S = E.run(Call());
      EXPECT_TRUE(S.ok()) << S.toString();
      return S.ok() ? E.output(0).as<int64_t>()[0] : -1;
    });
  }
  /// What is answered; or "code message".
  std::string call(const std::string &Text,
                   const char *Path = "/own.Game/play") {
    grpc::ClientContext Context;
    Context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(20));
    grpc::CompletionQueue Queue;
    grpc::GenericStub Stub(Channel);
    grpc::Slice Sent(Text);
    grpc::ByteBuffer Out(&Sent, 1), In;
    auto Call = Stub.PrepareUnaryCall(&Context, Path, Out, &Queue);
    grpc::Status How;
    Call->StartCall();
    Call->Finish(&In, &How, nullptr);
    void *Tag;
    bool Ok;
    Queue.Next(&Tag, &Ok);
    if (!How.ok())
      return std::to_string(How.error_code()) + " " + How.error_message();
    grpc::Slice Came;
    EXPECT_TRUE(In.DumpToSingleSlice(&Came).ok());
    return {Came.begin(), Came.end()};
  }
  auto calling(const std::string &Text) {
    return std::async(std::launch::async, [this, Text] { return call(Text); });
  }

  GrpcLibrary Library;
  std::string Socket;
  std::shared_ptr<grpc::Channel> Channel;
  Expected<EngineSource> Source = Status::error(StatusCode::Abstained, "");
  std::vector<std::unique_ptr<Engine>> Engines;
};

TEST_F(OwnMethodTest, CallsWithoutANumberFollowOneAnother) {
  open();
  ASSERT_TRUE(Source) << Source.status().toString();
  for (int Episode = 0; Episode < 2; ++Episode) {
    auto Y = ask(5);
    EXPECT_EQ(call("the first is not looked at"), "5");
    EXPECT_EQ(call("x"), "3 'y' is no number");
    auto Next = calling("6");
    EXPECT_EQ(Y.get(), 6);
    Y = ask(7);
    EXPECT_EQ(Next.get(), "7");
    Next = calling("8");
    EXPECT_EQ(Y.get(), 8);
    EXPECT_TRUE(Engines[0]->endEpisode(Call()).ok());
    EXPECT_EQ(Next.get(), "end");
  }
  EXPECT_EQ(call("", "/own.Game/other"), "12 this compiler serves "
                                         "/own.Game/play");
}

TEST_F(OwnMethodTest, EndsThatCannotBeToldAreNot) {
  open(/*TellsEnds=*/false);
  ASSERT_TRUE(Source) << Source.status().toString();
  auto Y = ask(5);
  EXPECT_EQ(call(""), "5");
  auto Next = calling("6");
  EXPECT_EQ(Y.get(), 6);
  EXPECT_TRUE(Engines[0]->endEpisode(Call()).ok());
  Y = ask(7);
  EXPECT_EQ(Next.get(), "7");
  Next = calling("8");
  EXPECT_EQ(Y.get(), 8);
  Engines.clear();
  Source = Status::error(StatusCode::Abstained, "");
  EXPECT_EQ(Next.get().substr(0, 3), "14 ");
}

TEST_F(OwnMethodTest, AStreamIsNotServed) {
  open(/*TellsEnds=*/true, /*Streams=*/true);
  ASSERT_FALSE(Source);
  EXPECT_EQ(Source.status().code(), StatusCode::InvalidArgument);
  EXPECT_NE(Source.status().message().find("/own.Game/play streams"),
            std::string::npos);
}
