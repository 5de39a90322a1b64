//===- RawGrpc.cpp - The raw compilers of grpc: ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RawGrpc.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <grpc/grpc.h>

#include <atomic>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cbridge::conformance {

namespace {

/// A call of converse.
struct Calling {
  std::shared_ptr<grpc::Channel> Over;
  grpc::CompletionQueue Queue;
  grpc::ClientContext Context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> Stream;
  grpc::ByteBuffer In;
  bool Reading = false, Writing = false, Ended = false, Works = false;

  ~Calling() {
    Context.TryCancel();
    Queue.Shutdown();
    void *Tag;
    bool Ok;
    while (Queue.Next(&Tag, &Ok)) {
    }
  }
  /// False if nothing happens by then.
  bool step(Deadline Until) {
    void *Tag;
    bool Ok;
    if (Queue.AsyncNext(&Tag, &Ok, timeOf(Until)) !=
        grpc::CompletionQueue::GOT_EVENT)
      return false;
    *static_cast<bool *>(Tag) = false;
    (Tag == &Reading ? Ended : Works) = Tag == &Reading ? !Ok : Ok;
    return true;
  }
  /// Says no more, and goes when the peer has understood that. A call that is
  /// cancelled takes with it what was sent and not read.
  void leave() {
    Deadline Until = Deadline::in(std::chrono::seconds(10));
    Writing = true;
    Stream->WritesDone(&Writing);
    while (!Ended) {
      if (!Reading) {
        Reading = true;
        Stream->Read(&In, &Reading);
      }
      if (!step(Until))
        return;
    }
  }
};

std::atomic<int> Leaving{0};

class RawGrpcCompiler : public RawGrpc {
public:
  ~RawGrpcCompiler() override {
    if (!C || !Unheard)
      return; // cancels
    ++Leaving;
    std::thread([Gone = std::move(C)]() mutable {
      Gone->leave();
      Gone.reset();
      --Leaving;
    }).detach();
  }
  bool open(const std::string &Address) {
    C = std::make_unique<Calling>();
    grpc::ChannelArguments Args;
    Args.SetMaxReceiveMessageSize(-1);
    Args.SetMaxSendMessageSize(-1);
    Args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    C->Over = grpc::CreateCustomChannel(
        serverOf(Address), grpc::InsecureChannelCredentials(), Args);
    C->Stream = grpc::GenericStub(C->Over).PrepareCall(&C->Context, Converse,
                                                       &C->Queue);
    C->Writing = true;
    C->Stream->StartCall(&C->Writing);
    return written(Deadline::in(std::chrono::seconds(10)));
  }

protected:
  bool sendMessage(const std::string &Message, FrameKind,
                   Deadline Until) override {
    Unheard = true;
    C->Writing = true;
    C->Stream->Write(bufferOf(Message), &C->Writing);
    return written(Until);
  }
  bool receiveMessage(Deadline Until) override {
    if (!C->Reading && !C->Ended) {
      C->Reading = true;
      C->Stream->Read(&C->In, &C->Reading);
    }
    while (C->Reading)
      if (!C->step(Until))
        return false;
    if (C->Ended)
      return false;
    Unheard = false;
    came(C->In);
    C->In.Clear();
    return true;
  }

  std::unique_ptr<Calling> C;
  bool Unheard = false; // something was sent since the last answer

private:
  bool written(Deadline Until) {
    while (C->Writing)
      if (!C->step(Until))
        return false;
    return C->Works;
  }
};

/// A call of getAdvice.
struct Asking {
  grpc::CompletionQueue Queue;
  grpc::ClientContext Context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> Reader;
  grpc::ByteBuffer In;
  grpc::Status End;
  bool Done = false;

  Asking(const std::shared_ptr<grpc::Channel> &Over, const std::string &Text) {
    Reader = grpc::GenericStub(Over).PrepareUnaryCall(&Context, GetAdvice,
                                                      bufferOf(Text), &Queue);
    Reader->StartCall();
    Reader->Finish(&In, &End, this);
  }
  ~Asking() {
    Context.TryCancel();
    await(Deadline::never());
    Queue.Shutdown();
    void *Tag;
    bool Ok;
    while (Queue.Next(&Tag, &Ok)) {
    }
  }
  bool await(Deadline Until) {
    void *Tag;
    bool Ok;
    if (!Done)
      Done = Queue.AsyncNext(&Tag, &Ok, timeOf(Until)) ==
             grpc::CompletionQueue::GOT_EVENT;
    return Done;
  }
};

/// In a session, requests and ends are calls; the stream has all the rest.
class RawUnaryCompiler : public RawGrpcCompiler {
public:
  ~RawUnaryCompiler() override {
    if (!Call || Taken)
      return;
    // Its session must not end before the call has come.
    ++Leaving;
    std::thread([Gone = std::move(C), Last = std::move(Call)]() mutable {
      Last->await(Deadline::in(std::chrono::seconds(10)));
      Last.reset();
      Gone.reset();
      --Leaving;
    }).detach();
  }
  void taken() override { Taken = true; }

private:
  bool sendMessage(const std::string &Message, FrameKind Kind,
                   Deadline Until) override {
    bool Asks = Kind == FrameKind::Request || Kind == FrameKind::End;
    if (!Greeted || !Asks) {
      Greeted |= Kind == FrameKind::Hello;
      return RawGrpcCompiler::sendMessage(Message, Kind, Until);
    }
    Call = std::make_unique<Asking>(C->Over, Message);
    if (Kind == FrameKind::End && Call->await(Until) && Call->End.ok())
      Call.reset(); // there is nothing in the answer
    return true;
  }
  bool receiveMessage(Deadline Until) override {
    if (Call && !Call->await(Until))
      return false;
    std::unique_ptr<Asking> Answered = std::move(Call);
    if (Answered && Answered->End.ok()) {
      came(Answered->In);
      return true;
    }
    return RawGrpcCompiler::receiveMessage(Until);
  }

  std::unique_ptr<Asking> Call;
  bool Greeted = false, Taken = false;
};

template <typename Kind>
std::unique_ptr<RawEnd> makeCompiler(const std::string &Address, Manners) {
  auto End = std::make_unique<Kind>();
  if (!End->open(Address))
    return nullptr;
  return End;
}

std::string socketAddress(const std::string &Directory) {
  return "grpc:unix:" + Directory + "/peer";
}

/// A port that nobody has, at an address of this machine that no other process
/// of the tests uses.
std::string portAddress(const std::string &) {
  auto Process = uint32_t(::getpid());
  sockaddr_in Local = {};
  Local.sin_family = AF_INET;
  Local.sin_addr.s_addr = htonl(0x7F000000U | (Process & 0xFFFFFFU));
  int Socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  socklen_t Size = sizeof(Local);
  auto *Generic = reinterpret_cast<sockaddr *>(&Local);
  char Name[INET_ADDRSTRLEN] = "";
  if (::bind(Socket, Generic, Size) == 0 &&
      ::getsockname(Socket, Generic, &Size) == 0)
    ::inet_ntop(AF_INET, &Local.sin_addr, Name, sizeof(Name));
  ::close(Socket);
  return "grpc:" + std::string(Name) + ":" +
         std::to_string(ntohs(Local.sin_port));
}

} // namespace

ChannelUnderTest grpcUnderTest() {
  ChannelUnderTest C;
  C.Name = "grpc";
  C.WholeMessages = C.OwnFraming = C.SendsLater = true;
  C.BreaksInForks = C.BlocksSignals = true;
  C.KeepsFiles = 2;       // the poller of gRPC's event engine
  C.KeepsBytes = 300'000; // in its pools; after 3,000 faults it takes no more
  C.Address = socketAddress;
  C.MakePeer = makeGrpcPeer;
  C.MakeCompiler = makeCompiler<RawGrpcCompiler>;
  C.Settled = [] { return Leaving == 0; };
  return C;
}

ChannelUnderTest grpcUnaryUnderTest() {
  ChannelUnderTest C = grpcUnderTest();
  C.Options = "&mode=unary";
  C.Label = "grpc_unary";
  C.AnswersOnce = true;
  C.MakeCompiler = makeCompiler<RawUnaryCompiler>;
  return C;
}

ChannelUnderTest grpcPortUnderTest() {
  ChannelUnderTest C = grpcUnderTest();
  C.Label = "grpc_port";
  C.Address = portAddress;
  return C;
}

} // namespace cbridge::conformance
