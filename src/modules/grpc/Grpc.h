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
#include "modules/grpc/Security.h"
#include "modules/grpc/wire/FrameMessage.h"

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <grpc/support/time.h>

#include <csignal>
#include <functional>
#include <new>
#include <thread>

namespace cbridge {

/// The compiler's end: a client, see docs/formats/grpc.md.
Expected<std::unique_ptr<Channel>> connectGrpc(const RunnerString &Address,
                                               const ChannelOptions &Options);
/// The peer's end: a server.
Expected<std::unique_ptr<Listener>> listenGrpc(const RunnerString &Address,
                                               const ChannelOptions &Options);
/// The peer's end with `role=client`: it calls a compiler that is the server.
Expected<std::unique_ptr<Listener>> dialGrpc(const RunnerString &Address,
                                             const ChannelOptions &Options);

/// Keeps gRPC's threads alive; the last one ends them and waits for that.
/// Silences its log, unless the user has set GRPC_VERBOSITY.
class GrpcLibrary {
public:
  GrpcLibrary();
  ~GrpcLibrary();
  GrpcLibrary(const GrpcLibrary &) = delete;
};

/// Never destroys what Of owns. For a forked child, in which gRPC has no
/// threads, and for what would take a thread that cannot be had.
template <typename T> void leaveAlone(T &Of) {
  [[maybe_unused]] T *Left = new (std::nothrow) T(std::move(Of));
}

/// A thread of ours: signals are for the program's own. One that is not
/// joinable if the system has none left.
std::thread threadWithoutSignals(std::function<void()> Run);

/// Whether there are files and threads to begin with: without them gRPC aborts
/// when it begins, or waits for ever when it ends.
Status checkSupplies(const std::string &Name);
constexpr size_t MinThreads = 4;
Status noThread(const std::string &Name);

/// Does End in a thread of its own and waits for it no longer than Most: gRPC
/// does not end a call, however cancelled, while a process that has been
/// stopped keeps it from writing the rest of a message. Without a thread, End
/// and what it owns are left alone.
void endInTime(std::function<void()> End, std::chrono::milliseconds Most);
/// Deletes something like that.
template <typename T> struct EndsInTime {
  void operator()(T *Of) const {
    endInTime([Of] { delete Of; }, std::chrono::milliseconds(80));
  }
};

/// gRPC begins a wait anew when a signal interrupts it, so that a timer of the
/// compiler's could prolong it for ever. Those that end programs stay.
class NoInterruptions {
public:
  NoInterruptions();
  ~NoInterruptions();
  NoInterruptions(const NoInterruptions &) = delete;

private:
  sigset_t Before;
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
  /// The same for a server.
  std::string boundTarget() const;
  /// Whether nobody beyond this machine can get there.
  bool isLocal() const;
};

/// A client's connections to one server; makes none yet. Messages may be as
/// large as MaxMessage when they come, and as large as they like when they go.
std::shared_ptr<grpc::Channel>
makeChannel(const GrpcAddress &To, const Security &By, size_t MaxMessage);
/// What a call of Name's that failed means. PeerError: a server that raised.
Status failedCall(const std::string &Name, const grpc::Status &How);

/// Why a server of ours did not start.
Status cannotServe(const std::string &Name, const GrpcAddress &Where, bool Tls);

gpr_timespec grpcTime(Deadline D);
/// For a limit on messages with Size bytes of payload.
int grpcLimit(size_t Size);

/// A frame as gRPC sends it: a copy, since gRPC may keep it for as long as the
/// other end does not read.
grpc::ByteBuffer makeMessage(FrameMessage &As, FrameHeader Header,
                             const Message &Payload,
                             std::string_view Context = {});

/// Where received payloads lie, aligned.
class Inbox {
public:
  Expected<Frame> take(FrameMessage &As, const grpc::ByteBuffer &From,
                       size_t MaxMessage, FrameMessage::Unary *By = nullptr);
  /// The latest payload's memory.
  std::shared_ptr<const void> keep() { return Latest; }

private:
  Recycler<AlignedBuffer> Buffers;
  std::shared_ptr<AlignedBuffer> Latest;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_GRPC_H
