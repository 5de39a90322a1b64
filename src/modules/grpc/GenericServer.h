//===- GenericServer.h - A server of any method, and its thread -*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_GENERICSERVER_H
#define CBRIDGE_MODULES_GRPC_GENERICSERVER_H

#include "modules/grpc/Grpc.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <mutex>

namespace cbridge {

/// ThreadSanitizer does not see that a completion queue orders what is done
/// before a step begins and after it has ended.
void handsOver(void *Tag);
void takesOver(void *Tag);

/// A server, and the thread in which the steps of its calls end. What derives
/// from it must stop it in its destructor.
class GenericServer {
public:
  GenericServer(const GenericServer &) = delete;
  /// Serves those that By allows; Port is the one it has. Name is for messages.
  Status start(const std::string &Name, const GrpcAddress &Where, Security By,
               int MaxMessage, int &Port);
  /// Ends the thread. Answers have so long to get to their callers; then all
  /// calls are cancelled.
  void stop(std::chrono::milliseconds Grace);

protected:
  /// MostCalls: at once, of one connection; 0: any number.
  explicit GenericServer(int MostCalls = 0) : MostCalls(MostCalls) {}
  virtual ~GenericServer() = default;
  /// Requests the next call, unless the server has stopped.
  virtual void acceptNext() = 0;
  /// A step has ended. Of the server's thread.
  virtual void done(void *Tag, bool Ok) = 0;

  GrpcLibrary Library; // first, so that it ends last
  Security Guard;
  grpc::AsyncGenericService Service;
  std::unique_ptr<grpc::ServerCompletionQueue> Queue;
  /// Held while a step begins, which none does once it has Stopped. Taken last.
  std::mutex Posting;
  bool Stopped = false;

private:
  void run();

  const int MostCalls;
  std::unique_ptr<grpc::Server> Server;
  std::thread Thread;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_GENERICSERVER_H
