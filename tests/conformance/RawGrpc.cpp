//===- RawGrpc.cpp - The raw ends of grpc: --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ChannelsUnderTest.h"

#include "modules/grpc/wire/FrameMessage.h"
#include "modules/grpc/wire/Wire.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <grpc/grpc.h>

#include <atomic>
#include <cstring>
#include <list>
#include <thread>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cbridge::conformance {

namespace {

// Follows docs/formats/grpc.md: gRPC's own framing, messages by hand.

constexpr const char Converse[] = "/compiler_bridge.v1.CompilerBridge/converse";
constexpr const char GetAdvice[] =
    "/compiler_bridge.v1.CompilerBridge/getAdvice";

gpr_timespec timeOf(Deadline D) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(D.remaining().count(), GPR_TIMESPAN));
}

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

Bytes asBytes(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

/// `grpc:unix:PATH`, `grpc:HOST:PORT` as gRPC writes it, without options.
std::string serverOf(const std::string &Address) {
  return Address.substr(sizeof("grpc:") - 1);
}

/// The bytes that the suites send and receive are frames; here they become
/// messages. What is no frame is a message as it is.
class RawGrpc : public RawEnd {
public:
  using RawEnd::send;
  bool send(std::string_view Data, Deadline Until) override {
    Unsent += Data;
    while (auto Next = nextMessage())
      if (!sendMessage(Next->second, Next->first, Until))
        return false;
    return true;
  }
  bool receive(size_t Size, std::string &To, Deadline Until) override {
    while (Received.size() < Size)
      if (!receiveMessage(Until))
        return false;
    To.append(Received, 0, Size);
    Received.erase(0, Size);
    return true;
  }

protected:
  /// Of what is no frame, the kind is 0.
  virtual bool sendMessage(const std::string &Message, FrameKind Kind,
                           Deadline Until) = 0;
  /// Until a message has come; false if none does.
  virtual bool receiveMessage(Deadline Until) = 0;

  void came(const grpc::ByteBuffer &Buffer) {
    std::string Text = textOf(Buffer);
    FrameMessage::Unary By;
    // What is not understood shows as the frame that does not come.
    if (Expected<Frame> F = Format.decode(asBytes(Text), &By))
      Received += frameBytes(F->Header,
                             {reinterpret_cast<const char *>(F->Payload.data()),
                              F->Payload.size()});
  }

private:
  std::optional<std::pair<FrameKind, std::string>> nextMessage() {
    static const std::string Magic = headerBytes(FrameHeader()).substr(0, 4);
    if (Unsent.empty())
      return std::nullopt;
    if (Unsent.compare(0, 4, Magic, 0, std::min<size_t>(4, Unsent.size())) != 0)
      return std::pair{FrameKind(0), std::exchange(Unsent, std::string())};
    if (Unsent.size() < FrameHeader::Size)
      return std::nullopt;
    FrameHeader H;
    auto Field = [this](size_t At, auto &To) {
      std::memcpy(&To, Unsent.data() + At, sizeof(To));
    };
    uint16_t Kind, Version;
    Field(4, Version);
    Field(6, Kind);
    Field(8, H.Flags);
    Field(12, H.Runner);
    Field(16, H.Session);
    Field(24, H.Sequence);
    Field(32, H.Length);
    Field(40, H.Reward);
    H.Kind = FrameKind(Kind);
    // What has no field in a message is one that nobody knows.
    bool Strange = Version != FrameHeader::Version || H.Flags > 7;
    for (size_t At = 48; At < FrameHeader::Size; ++At)
      Strange |= Unsent[At] != 0;
    bool Absurd = H.Length > (uint64_t(1) << 40);
    size_t Size = FrameHeader::Size + (Absurd ? 0 : size_t(H.Length));
    if (Unsent.size() < Size)
      return std::nullopt;
    std::string Payload =
        Unsent.substr(FrameHeader::Size, Size - FrameHeader::Size);
    Unsent.erase(0, Size);
    unsigned char Header[FrameMessage::MaxHeader];
    size_t HeaderSize = Format.encode(H, asBytes(Payload), Header);
    std::string Whole(reinterpret_cast<char *>(Header), HeaderSize);
    return std::pair{H.Kind, (Strange ? "\x78\x01" : "") + Whole + Payload};
  }

  FrameMessage Format;
  std::string Unsent, Received;
};

class RawGrpcPeer : public RawGrpc {
public:
  explicit RawGrpcPeer(const std::string &Address) {
    grpc::ServerBuilder Builder;
    Builder.SetMaxReceiveMessageSize(-1);
    Builder.SetMaxSendMessageSize(-1);
    Builder.AddListeningPort(serverOf(Address),
                             grpc::InsecureServerCredentials());
    Builder.RegisterAsyncGenericService(&Service);
    Queue = Builder.AddCompletionQueue();
    Server = Builder.BuildAndStart();
    if (Server)
      accept();
  }
  ~RawGrpcPeer() override {
    // A connection that breaks takes with it what was sent and not read.
    Deadline Until = Deadline::in(std::chrono::seconds(10));
    while (Unheard && !Ended && step(Until)) {
    }
    if (Server)
      Server->Shutdown(gpr_time_0(GPR_CLOCK_MONOTONIC));
    Queue->Shutdown();
    void *Tag;
    bool Ok;
    while (Queue->Next(&Tag, &Ok)) {
    }
  }
  bool serves() const { return Server != nullptr; }

private:
  struct Call;
  struct Step {
    Call *Of;
    void (RawGrpcPeer::*Done)(Call &, bool Ok);
  };
  struct Call {
    grpc::GenericServerContext Context;
    grpc::GenericServerAsyncReaderWriter Stream{&Context};
    grpc::ByteBuffer In;
    bool Unary = false;
    Step Accepting{this, &RawGrpcPeer::accepted};
    Step Reading{this, &RawGrpcPeer::read};
    Step Writing{this, &RawGrpcPeer::written};
  };

  void accept() {
    Call &Next = Calls.emplace_back();
    Service.RequestCall(&Next.Context, &Next.Stream, Queue.get(), Queue.get(),
                        &Next.Accepting);
  }
  void accepted(Call &C, bool Ok) {
    if (!Ok)
      return;
    C.Unary = C.Context.method() == GetAdvice;
    // One session; others are left waiting.
    if (!C.Unary && std::exchange(Session, &C))
      Session = nullptr;
    C.Stream.Read(&C.In, &C.Reading);
    accept();
  }
  void read(Call &C, bool Ok) {
    if (!Ok) {
      Ended |= !C.Unary;
      return;
    }
    came(C.In);
    Came = true;
    Unheard = false;
    Answering = &C;
    if (!C.Unary)
      C.Stream.Read(&C.In, &C.Reading);
  }
  void written(Call &, bool Ok) {
    Wrote = true;
    Works = Ok;
  }
  bool step(Deadline Until) {
    void *Tag;
    bool Ok;
    if (Queue->AsyncNext(&Tag, &Ok, timeOf(Until)) !=
        grpc::CompletionQueue::GOT_EVENT)
      return false;
    auto *S = static_cast<Step *>(Tag);
    (this->*S->Done)(*S->Of, Ok);
    return true;
  }

  bool sendMessage(const std::string &Message, FrameKind,
                   Deadline Until) override {
    if (!Answering)
      return false;
    Wrote = false;
    Unheard = true;
    Call &C = *Answering;
    if (C.Unary) {
      C.Stream.WriteAndFinish(bufferOf(Message), grpc::WriteOptions(),
                              grpc::Status::OK, &C.Writing);
      Answering = nullptr;
    } else {
      C.Stream.Write(bufferOf(Message), &C.Writing);
    }
    while (!Wrote)
      if (!step(Until))
        return false;
    return Works;
  }
  bool receiveMessage(Deadline Until) override {
    for (Came = false; !Came && !Ended;)
      if (!step(Until))
        return false;
    return Came;
  }

  grpc::AsyncGenericService Service;
  std::unique_ptr<grpc::ServerCompletionQueue> Queue;
  std::unique_ptr<grpc::Server> Server;
  std::list<Call> Calls;
  Call *Session = nullptr, *Answering = nullptr;
  bool Came = false, Ended = false, Wrote = false, Works = false;
  bool Unheard = false; // something was sent since the last message
};

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

std::unique_ptr<RawEnd> makePeer(const std::string &Address) {
  auto End = std::make_unique<RawGrpcPeer>(Address);
  if (!End->serves())
    return nullptr;
  return End;
}

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
  C.MakePeer = makePeer;
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
