//===- GenericServer.cpp - A server of any method, and its thread ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/GenericServer.h"

#include <grpcpp/server_builder.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CBRIDGE_THREAD_SANITIZER
extern "C" void __tsan_acquire(void *Address);
extern "C" void __tsan_release(void *Address);
#endif
#endif

namespace cbridge {

#ifdef CBRIDGE_THREAD_SANITIZER
void handsOver(void *Tag) { __tsan_release(Tag); }
void takesOver(void *Tag) { __tsan_acquire(Tag); }
#else
void handsOver(void *) {}
void takesOver(void *) {}
#endif

Status GenericServer::start(const std::string &Name, const GrpcAddress &Where,
                            Security By, int MaxMessage, int &Port) {
  Guard = std::move(By);
  grpc::ServerBuilder Builder;
  Builder.SetMaxReceiveMessageSize(MaxMessage);
  Builder.SetMaxSendMessageSize(-1);
  // Two servers would share the clients of an address.
  Builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (MostCalls)
    Builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, MostCalls);
  Builder.AddListeningPort(Where.boundTarget(), Guard.serverCredentials(),
                           &Port);
  Builder.RegisterAsyncGenericService(&Service);
  Queue = Builder.AddCompletionQueue();
  Server = Builder.BuildAndStart();
  if (!Server || (Port <= 0 && Where.Path.empty())) {
    stop(std::chrono::milliseconds(0));
    return cannotServe(Name, Where, Guard.usesTls());
  }
  // Before the first call, which only it could end.
  Thread = threadWithoutSignals([this] { run(); });
  if (!Thread.joinable()) {
    stop(std::chrono::milliseconds(0));
    leaveAlone(Server); // gRPC may have got none either
    return noThread("cannot serve " + Name);
  }
  acceptNext();
  return Status();
}

void GenericServer::run() {
  void *Tag;
  bool Ok;
  while (Queue->Next(&Tag, &Ok)) {
    takesOver(Tag);
    done(Tag, Ok);
  }
}

void GenericServer::stop(std::chrono::milliseconds Grace) {
  if (Server)
    Server->Shutdown(grpcTime(Deadline::in(Grace)));
  {
    std::lock_guard<std::mutex> Lock(Posting);
    if (std::exchange(Stopped, true))
      return;
  }
  if (Queue)
    Queue->Shutdown();
  if (Thread.joinable())
    Thread.join();
  else if (Queue)
    run();
}

} // namespace cbridge
