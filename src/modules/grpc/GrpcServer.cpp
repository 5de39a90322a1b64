//===- GrpcServer.cpp - Calls that a peer serves --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/GrpcServer.h"

#include <grpcpp/server_builder.h>

#include <csignal>

#include <sys/eventfd.h>
#include <unistd.h>

namespace cbridge {

/// Messages that wait for the peer; more wait in the compiler.
static constexpr size_t MostWaiting = 16;

Event::Event() : File(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Event::set() {
  uint64_t One = 1;
  (void)!::write(File.get(), &One, sizeof(One));
}

void Event::reset() {
  uint64_t Count;
  (void)!::read(File.get(), &Count, sizeof(Count));
}

std::optional<grpc::ByteBuffer> ServedCall::take() {
  std::lock_guard<std::mutex> Lock(Using);
  if (Queue.empty())
    return std::nullopt;
  std::optional<grpc::ByteBuffer> Oldest(std::move(Queue.front()));
  Queue.pop_front();
  if (Queue.empty() && !Ended)
    Came.reset();
  if (!Reading && !Ended)
    read();
  return Oldest;
}

bool ServedCall::ended() {
  std::lock_guard<std::mutex> Lock(Using);
  return Ended;
}

bool ServedCall::readable() {
  std::lock_guard<std::mutex> Lock(Using);
  return Ended || !Queue.empty();
}

/// No more will come. Using is held.
void ServedCall::endQueue() {
  Ended = true;
  Came.set();
  Written.notify_all();
}

/// Using is held.
void ServedCall::read() {
  Reading = Of->post(shared_from_this(), Step::Read,
                     [this](void *Tag) { Stream.Read(&In, Tag); });
  if (!Reading)
    endQueue();
}

Status ServedCall::write(const grpc::ByteBuffer &Out, Deadline Until,
                         const std::string &Name) {
  std::unique_lock<std::mutex> Lock(Using);
  auto Idle = [this] { return !Writing || Finished; };
  if (Until.isNever())
    Written.wait(Lock, Idle);
  else if (!Written.wait_until(Lock, Until.end(), Idle))
    return Status::error(StatusCode::Timeout,
                         Name + " does not take the message");
  if (!Finished)
    Writing = Of->post(shared_from_this(), Step::Write,
                       [&](void *Tag) { Stream.Write(Out, Tag); });
  if (Finished || !Writing)
    return Status::error(StatusCode::PeerClosed,
                         Name + " closed the connection");
  return Status();
}

/// Using is held.
void ServedCall::end(const grpc::Status &With) {
  if (Finished)
    return;
  Finished = true;
  (void)Of->post(shared_from_this(), Step::Finish,
                 [&](void *Tag) { Stream.Finish(With, Tag); });
  Written.notify_all();
}

void ServedCall::finish() {
  std::lock_guard<std::mutex> Lock(Using);
  FinishWanted = true;
  if (!Writing)
    end(grpc::Status::OK);
}

void ServedCall::accept() {
  (void)Of->post(shared_from_this(), Step::Accept, [this](void *Tag) {
    Of->Service.RequestCall(&Context, &Stream, Of->Queue.get(), Of->Queue.get(),
                            Tag);
  });
}

void ServedCall::done(Step S, bool Ok) {
  std::lock_guard<std::mutex> Lock(Using);
  switch (S) {
  case Step::Accept:
    if (!Ok)
      return; // the server stops
    Of->acceptNext();
    if (!Of->Guard.allows(Context.client_metadata()))
      end(grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                       "the call has not the token of this peer"));
    else if (Context.method() == ConverseMethod)
      read();
    else
      end(grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                       "this peer serves " + std::string(ConverseMethod)));
    return;
  case Step::Read: {
    Reading = false;
    if (!Ok) {
      endQueue();
      if (!Known) // it left without a word
        end(grpc::Status::OK);
      return;
    }
    std::vector<grpc::Slice> Slices;
    bool Bye = In.Dump(&Slices).ok() && !Slices.empty() &&
               FrameMessage::kindOf({Slices[0].begin(), Slices[0].size()}) ==
                   FrameKind::Bye;
    Queue.push_back(In);
    In.Clear();
    Came.set();
    if (!Known)
      Of->speaks(shared_from_this());
    Known = true;
    if (Bye) { // a compiler that goes does not wait for the peer
      endQueue();
      FinishWanted = true;
      if (!Writing)
        end(grpc::Status::OK);
    } else if (Queue.size() < MostWaiting) {
      read();
    }
    return;
  }
  case Step::Write:
    Writing = false;
    if (FinishWanted)
      end(grpc::Status::OK);
    Written.notify_all();
    return;
  case Step::Finish:
    return;
  }
}

GrpcServer::~GrpcServer() { stop(); }

bool GrpcServer::start(const std::string &Target, Security By, int MaxMessage,
                       int &Port) {
  Guard = std::move(By);
  grpc::ServerBuilder Builder;
  Builder.SetMaxReceiveMessageSize(MaxMessage);
  Builder.SetMaxSendMessageSize(-1);
  // Two peers would share the compilers of an address.
  Builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  Builder.AddListeningPort(Target, Guard.serverCredentials(), &Port);
  Builder.RegisterAsyncGenericService(&Service);
  Queue = Builder.AddCompletionQueue();
  Server = Builder.BuildAndStart();
  if (!Server || (Port <= 0 && Target.rfind("unix:", 0) != 0)) {
    stop();
    return false;
  }
  acceptNext();
  // Signals are for the peer's own threads.
  sigset_t All, Before;
  ::sigfillset(&All);
  ::pthread_sigmask(SIG_SETMASK, &All, &Before);
  Thread = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &Before, nullptr);
  return true;
}

void GrpcServer::run() {
  void *Came;
  bool Ok;
  while (Queue->Next(&Came, &Ok)) {
    std::unique_ptr<Tag> Done(static_cast<Tag *>(Came));
    Done->Of->done(Done->Step, Ok);
  }
}

void GrpcServer::stop() {
  if (Server)
    Server->Shutdown(gpr_time_0(GPR_CLOCK_MONOTONIC));
  {
    std::lock_guard<std::mutex> Lock(Posting);
    if (Stopped)
      return;
    Stopped = true;
  }
  if (Queue)
    Queue->Shutdown();
  if (Thread.joinable())
    Thread.join();
  else if (Queue)
    run();
  std::lock_guard<std::mutex> Lock(Using);
  Waiting.clear();
}

void GrpcServer::acceptNext() {
  std::make_shared<ServedCall>(shared_from_this())->accept();
}

void GrpcServer::speaks(std::shared_ptr<ServedCall> Call) {
  std::lock_guard<std::mutex> Lock(Using);
  Waiting.push_back(std::move(Call));
  Came.set();
}

std::shared_ptr<ServedCall> GrpcServer::take() {
  std::lock_guard<std::mutex> Lock(Using);
  if (Waiting.empty())
    return nullptr;
  std::shared_ptr<ServedCall> Oldest = std::move(Waiting.front());
  Waiting.pop_front();
  if (Waiting.empty())
    Came.reset();
  return Oldest;
}

bool GrpcServer::readable() {
  std::lock_guard<std::mutex> Lock(Using);
  return !Waiting.empty();
}

} // namespace cbridge
