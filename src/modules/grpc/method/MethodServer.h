//===- MethodServer.h - Serves the calls of one method ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_METHOD_METHODSERVER_H
#define CBRIDGE_MODULES_GRPC_METHOD_METHODSERVER_H

#include "modules/grpc/GenericServer.h"

#include <grpcpp/alarm.h>

namespace cbridge {

class MethodServer;

/// One call with one message each way. Any thread may end it; the first end
/// counts.
class AskedCall : public std::enable_shared_from_this<AskedCall> {
public:
  explicit AskedCall(MethodServer &Of);
  /// What was sent; lives as long as the call.
  Bytes message() const { return {Memory.data(), Size}; }
  void answer(const grpc::ByteBuffer &With);
  void refuse(grpc::StatusCode Code, const std::string &Why);
  /// Instead of ending it: the handler is asked once more in a moment. False if
  /// it has been already. Of the server's thread.
  bool askAgain();

private:
  friend class MethodServer;
  enum Step { Accept, Leave, Read, Pause, Finish, Steps };
  struct Tag {
    AskedCall *Of;
    Step Which;
  };
  void *begin(Step S);
  void done(Step S, bool Ok);
  void accepted();
  void received();

  MethodServer &Of;
  grpc::GenericServerContext Context;
  grpc::GenericServerAsyncReaderWriter Stream{&Context};
  grpc::ByteBuffer In;
  AlignedBuffer Memory;
  size_t Size = 0;
  Tag Tags[Steps];
  grpc::Alarm Moment;
  bool Ended = false;  // by us
  bool Gone = false;   // it is over
  bool Paused = false; // once
  // Keeps itself while steps are under way.
  std::shared_ptr<AskedCall> Self;
  unsigned UnderWay = 0;
};

/// Who answers calls, told in the server's thread.
class CallHandler {
public:
  virtual ~CallHandler() = default;
  virtual void asked(const std::shared_ptr<AskedCall> &Call) = 0;
  /// A call is over, answered or not.
  virtual void left(const AskedCall &Call) = 0;
};

/// A server of one unary method.
class MethodServer : public GenericServer {
public:
  MethodServer(std::string Path, CallHandler &To)
      : Path(std::move(Path)), To(To) {}
  ~MethodServer() override { stop(std::chrono::milliseconds(0)); }

private:
  friend class AskedCall;
  void acceptNext() override;
  void done(void *Came, bool Ok) override;

  const std::string Path;
  CallHandler &To;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_METHOD_METHODSERVER_H
