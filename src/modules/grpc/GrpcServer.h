//===- GrpcServer.h - Calls that a peer serves ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_GRPCSERVER_H
#define CBRIDGE_MODULES_GRPC_GRPCSERVER_H

#include "modules/grpc/Grpc.h"
#include "os/File.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

namespace cbridge {

/// A file that can be read while it is set.
class Event {
public:
  Event();
  int file() const { return File.get(); }
  void set();
  void reset();

private:
  os::File File;
};

class GrpcServer;

/// One call of `converse`. Its steps end in the server's thread, which puts
/// what has come into a queue; everything else is the peer's thread.
class ServedCall : public std::enable_shared_from_this<ServedCall> {
public:
  explicit ServedCall(std::shared_ptr<GrpcServer> Of) : Of(std::move(Of)) {}

  // Of the peer's thread.

  /// The oldest message that has come.
  std::optional<grpc::ByteBuffer> take();
  /// No more will come.
  bool ended();
  /// Something has come, or it has ended.
  bool readable();
  int file() const { return Came.file(); }
  /// Sends, once what was sent before has left.
  Status write(const grpc::ByteBuffer &Out, Deadline Until,
               const std::string &Name);
  /// Ends the call, once what was sent has left.
  void finish();

  // Of the server's thread.

  enum class Step { Accept, Read, Write, Finish };
  void done(Step S, bool Ok);
  void accept();

private:
  void read();
  void end(const grpc::Status &With);
  void endQueue();

  std::shared_ptr<GrpcServer> Of;
  grpc::GenericServerContext Context;
  grpc::GenericServerAsyncReaderWriter Stream{&Context};
  grpc::ByteBuffer In;
  std::mutex Using;
  std::condition_variable Written;
  std::deque<grpc::ByteBuffer> Queue;
  Event Came;
  bool Reading = false, Writing = false, Ended = false, Known = false;
  bool FinishWanted = false, Finished = false;
};

/// A server and its thread.
class GrpcServer : public std::enable_shared_from_this<GrpcServer> {
public:
  ~GrpcServer();
  /// Whether it serves those that By allows; Port is the one it has.
  bool start(const std::string &Target, Security By, int MaxMessage, int &Port);
  /// Ends all calls and the thread.
  void stop();

  /// A call that has said something.
  std::shared_ptr<ServedCall> take();
  bool readable();
  int file() const { return Came.file(); }

private:
  friend class ServedCall;
  /// What a step that is under way belongs to.
  struct Tag {
    std::shared_ptr<ServedCall> Of;
    ServedCall::Step Step;
  };
  /// Does Post with a tag for the step, unless the server has stopped.
  template <typename Callable>
  bool post(std::shared_ptr<ServedCall> Call, ServedCall::Step Step,
            Callable Post) {
    std::lock_guard<std::mutex> Lock(Posting);
    if (Stopped)
      return false;
    Post(new Tag{std::move(Call), Step});
    return true;
  }
  void acceptNext();
  void speaks(std::shared_ptr<ServedCall> Call);
  void run();

  GrpcLibrary Library; // first, so that it ends last
  Security Guard;
  grpc::AsyncGenericService Service;
  std::unique_ptr<grpc::ServerCompletionQueue> Queue;
  std::unique_ptr<grpc::Server> Server;
  std::thread Thread;
  std::mutex Posting; // taken last
  bool Stopped = false;
  std::mutex Using;
  std::deque<std::shared_ptr<ServedCall>> Waiting;
  Event Came;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_GRPCSERVER_H
