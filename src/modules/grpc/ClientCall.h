//===- ClientCall.h - What clients of gRPC share ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_CLIENTCALL_H
#define CBRIDGE_MODULES_GRPC_CLIENTCALL_H

#include "channel/PeerProcess.h"
#include "modules/grpc/Grpc.h"

#include <grpcpp/generic/generic_stub.h>

#include <optional>

namespace cbridge {

/// One try to connect: whether somebody takes our connection by then. If so,
/// Made is it; Library must outlive it.
PeerProcess::Attempt tryChannel(const GrpcAddress &To, const Security &By,
                                size_t MaxMessage, Deadline Until,
                                const std::string &Name,
                                std::unique_ptr<GrpcLibrary> &Library,
                                std::shared_ptr<grpc::Channel> &Made,
                                Status &Why);

/// What gRPC has for one stream. In a forked child it is left alone: its
/// threads are not there.
struct StreamCall {
  /// What is under way.
  enum Step : unsigned { Starting, Writing, Reading, Closing, Ending, Steps };

  GrpcLibrary Library; // first, so that it ends last
  std::shared_ptr<grpc::Channel> Channel;
  grpc::CompletionQueue Queue;
  grpc::ClientContext Context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> Stream;
  grpc::ByteBuffer In;
  grpc::Status End;
  bool Pending[Steps] = {}, Worked[Steps] = {};

  StreamCall() = default;
  StreamCall(const StreamCall &) = delete;
  /// Hangs up, if the call is not over.
  ~StreamCall();

  void *begin(Step S) {
    Pending[S] = true;
    return &Pending[S];
  }
  /// Waits until S is over; false if it is not by then. What is there already
  /// is found even if the deadline has passed.
  bool await(Step S, Deadline Until);
};

using StreamCallPointer = std::unique_ptr<StreamCall, EndsInTime<StreamCall>>;

/// Calls with one message each way, one after the other.
class UnaryCalls {
  GrpcLibrary Library; // first, so that it ends last

public:
  UnaryCalls() = default;
  UnaryCalls(const UnaryCalls &) = delete;
  ~UnaryCalls();

  /// Only if none is under way.
  void begin(const std::shared_ptr<grpc::Channel> &Over, const Security &By,
             const std::string &Path, const grpc::ByteBuffer &Asked,
             Deadline Until);
  bool pending() const { return Pending; }
  /// Whether the call is over; then Answer or End tell how.
  bool await(Deadline Until);

  grpc::ByteBuffer Answer;
  grpc::Status End;

private:
  grpc::CompletionQueue Queue;
  std::optional<grpc::ClientContext> Context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> Reader;
  bool Pending = false;
};
using UnaryCallsPointer = std::unique_ptr<UnaryCalls, EndsInTime<UnaryCalls>>;

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_CLIENTCALL_H
