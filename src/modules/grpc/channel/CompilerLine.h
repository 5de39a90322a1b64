//===- CompilerLine.h - Calls a compiler that is the server -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_CHANNEL_COMPILERLINE_H
#define CBRIDGE_MODULES_GRPC_CHANNEL_COMPILERLINE_H

#include "modules/grpc/Grpc.h"
#include "modules/grpc/channel/GrpcServer.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <condition_variable>

namespace cbridge {

/// Where a compiler serves: an address, or a file that tells it.
struct CompilerPlace {
  GrpcAddress Address;
  std::string File; // if not empty
  Security By;
  size_t MaxMessage;

  /// Unavailable: the file is not there yet.
  Expected<GrpcAddress> find() const;
};

/// getObservation of one compiler, again and again: one call at a time, which
/// ends in a thread of its own and is then waited for by file.
class CompilerLine {
public:
  explicit CompilerLine(CompilerPlace Where);
  /// Hangs up, once the compiler has had time to take the latest action.
  ~CompilerLine();
  CompilerLine(const CompilerLine &) = delete;

  /// What came of a call.
  struct Outcome {
    grpc::Status How;
    grpc::ByteBuffer Came;
    /// Why there could be no call.
    Status Broken = {};
  };
  /// Step 0. A compiler that is not there, or has another trainer, is waited
  /// for; Once: it is not.
  void begin(bool Once = false);
  /// The same after a while, which grows from time to time until calm() is
  /// called.
  void beginLater();
  void calm();
  /// Sends an Action.
  void act(const grpc::ByteBuffer &Action);

  std::optional<Outcome> take();
  void putBack(Outcome O);
  bool readable();
  /// Between calls: the connection has broken.
  bool broken();
  int file() const { return Came.file(); }

private:
  struct Call {
    grpc::ClientContext Context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> Reader;
    Outcome O;
  };
  void run();
  void start(const grpc::ByteBuffer &Action);
  void tryToBegin();
  void pause();
  void finish(Outcome O);
  bool hasThread();
  void called();

  GrpcLibrary Library; // first, so that it ends last
  const CompilerPlace Where;
  grpc::CompletionQueue Queue;
  std::thread Thread;
  std::mutex Using;
  std::shared_ptr<grpc::Channel> Over;
  std::unique_ptr<Call> Now;
  std::condition_variable Ended;
  Deadline TakenBy = Deadline::past(); // of the latest action
  grpc::Alarm Wake;
  bool Persists = false; // in beginning
  bool Stopped = false;
  std::chrono::milliseconds Wait;
  std::optional<Outcome> Done;
  Event Came;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_CHANNEL_COMPILERLINE_H
