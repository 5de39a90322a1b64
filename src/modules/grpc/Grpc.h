//===- Grpc.h - grpc:HOST:PORT, grpc:unix:PATH ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_GRPC_H
#define CBRIDGE_MODULES_GRPC_GRPC_H

#include "channel/Channel.h"
#include "core/Recycler.h"
#include "modules/grpc/FrameMessage.h"

#include <grpcpp/support/byte_buffer.h>

#include <grpc/support/time.h>

namespace cbridge {

/// The compiler's end: a client, see docs/formats/grpc.md.
Expected<std::unique_ptr<Channel>> connectGrpc(const RunnerString &Address,
                                               const ChannelOptions &Options);
/// The peer's end: a server.
Expected<std::unique_ptr<Listener>> listenGrpc(const RunnerString &Address,
                                               const ChannelOptions &Options);

/// Keeps gRPC's threads alive; the last one ends them and waits for that.
/// Silences its log, unless the user has set GRPC_VERBOSITY.
class GrpcLibrary {
public:
  GrpcLibrary();
  ~GrpcLibrary();
  GrpcLibrary(const GrpcLibrary &) = delete;
};

constexpr const char ConverseMethod[] =
    "/compiler_bridge.v1.CompilerBridge/converse";

/// A target of ours.
struct GrpcAddress {
  std::string Path;       ///< of a Unix socket, or
  std::string Host, Port; ///< Host with its brackets, if it has some

  static Expected<GrpcAddress> parse(const RunnerString &Address,
                                     const std::string &Target);
  /// As gRPC writes it.
  std::string target() const;
  /// Whether nobody beyond this machine can get there.
  bool isLocal() const;
};

gpr_timespec grpcTime(Deadline D);
/// For a limit on messages with Size bytes of payload.
int grpcLimit(size_t Size);

/// A frame as gRPC sends it. Pieces of the payload are lent if LendFrom or
/// larger: they must live until it has been sent.
grpc::ByteBuffer makeMessage(FrameMessage &As, FrameHeader Header,
                             const Message &Payload, size_t LendFrom,
                             bool &Lent);

/// Where received payloads lie, aligned.
class Inbox {
public:
  Expected<Frame> take(FrameMessage &As, const grpc::ByteBuffer &From,
                       size_t MaxMessage);
  /// The latest payload's memory.
  std::shared_ptr<const void> keep() { return Latest; }

private:
  Recycler<AlignedBuffer> Buffers;
  std::shared_ptr<AlignedBuffer> Latest;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_GRPC_H
