//===- MethodCaller.h - Asks by one method ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_METHOD_METHODCALLER_H
#define CBRIDGE_MODULES_GRPC_METHOD_METHODCALLER_H

#include "modules/grpc/Grpc.h"
#include "modules/grpc/wire/MethodMessages.h"

#include <grpcpp/support/slice.h>

namespace cbridge {

/// How the runners of one model get to their server.
struct MethodRoute {
  std::string Name; ///< for messages
  std::string Path; ///< of the method
  GrpcAddress To;
  Security By;
  size_t MaxMessage;

  std::shared_ptr<grpc::Channel> channel() const;
  /// What a call that has failed means for one decision.
  Status failed(const grpc::Status &How) const;
  Status tooLate(const std::string &Why = "") const;
};

/// The caller of one runner. A failure may concern one decision only, or the
/// connection: see Status::isTransport. After either it may be used again, and
/// what was asked before is never answered.
class MethodCaller {
public:
  virtual ~MethodCaller() = default;
  /// The reply, which lives until the next call of anything here.
  virtual Expected<Bytes> ask(const Message &Sent, Deadline Until) = 0;
  /// For a message that needs no reply.
  virtual Status tell(const Message &Sent, Deadline Until) = 0;
};

/// One call per message. Channel may be null.
std::unique_ptr<MethodCaller>
callOncePerMessage(const MethodRoute &Route,
                   std::shared_ptr<grpc::Channel> Channel);
/// One stream, begun again when it is dead. A message without a reply is its
/// last.
std::unique_ptr<MethodCaller>
callByStream(const MethodRoute &Route, std::shared_ptr<grpc::Channel> Channel);

/// A copy of it.
grpc::ByteBuffer copied(const Message &From);

/// A received message in one piece.
class ReceivedMessage {
public:
  Expected<Bytes> take(grpc::ByteBuffer &From);

private:
  grpc::Slice Held;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_METHOD_METHODCALLER_H
