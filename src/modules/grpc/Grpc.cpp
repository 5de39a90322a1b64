//===- Grpc.cpp - What both ends of grpc: share ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/Grpc.h"

#include "os/File.h"
#include "os/Socket.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/slice.h>

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include <sys/eventfd.h>

namespace cbridge {

static std::atomic<int> Users{0};
/// This program uses the same library itself.
static std::atomic<bool> Shared{false};

GrpcLibrary::GrpcLibrary() {
  // A compiler's standard error is not gRPC's.
  if (!::getenv("GRPC_VERBOSITY"))
    gpr_set_log_function([](gpr_log_func_args *) {});
  if (Users++ == 0)
    Shared = grpc_is_initialized() != 0;
  grpc_init();
}

GrpcLibrary::~GrpcLibrary() {
  bool Last = --Users == 0;
  grpc_shutdown_blocking();
  if (!Last || Shared || !grpc_is_initialized())
    return;
  // A thread or a timer of gRPC's was not through with it yet and shuts it down
  // later.
  for (int Tries = 0; Tries < 150 && grpc_is_initialized(); ++Tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  grpc_init();
  grpc_shutdown_blocking();
}

std::thread threadWithoutSignals(std::function<void()> Run) {
  sigset_t All, Before;
  ::sigfillset(&All);
  ::pthread_sigmask(SIG_SETMASK, &All, &Before);
  std::thread Started;
  try {
    Started = std::thread(std::move(Run));
  } catch (const std::exception &) { // nor memory, perhaps
    Started = std::thread();
  }
  ::pthread_sigmask(SIG_SETMASK, &Before, nullptr);
  return Started;
}

void endInTime(std::function<void()> End, std::chrono::milliseconds Most) {
  struct Ending {
    std::function<void()> End;
    std::mutex Using;
    std::condition_variable Over;
    bool Done = false;
  };
  auto Now = std::make_shared<Ending>();
  Now->End = std::move(End);
  std::thread Ends = threadWithoutSignals([Now] {
    Now->End();
    {
      std::lock_guard<std::mutex> Lock(Now->Using);
      Now->Done = true;
      Now->Over.notify_all();
    }
    Now->End = nullptr; // here, and not where nobody may have to wait
  });
  // What End owns may take as long as End itself.
  if (!Ends.joinable())
    return leaveAlone(Now);
  std::unique_lock<std::mutex> Lock(Now->Using);
  bool InTime = Now->Over.wait_for(Lock, Most, [&] { return Now->Done; });
  Lock.unlock();
  if (InTime)
    Ends.join();
  else
    Ends.detach();
}

Status checkSupplies(const std::string &Name) {
  os::File Files[8];
  for (os::File &Each : Files)
    if (Each = os::File(::eventfd(0, EFD_CLOEXEC)); !Each)
      return os::lastError(Name);
  std::thread Threads[MinThreads];
  std::mutex Together;
  std::unique_lock<std::mutex> Lock(Together);
  for (std::thread &Each : Threads)
    Each = threadWithoutSignals(
        [&Together] { std::lock_guard<std::mutex> Wait(Together); });
  Lock.unlock();
  bool Enough = Threads[MinThreads - 1].joinable();
  for (std::thread &Each : Threads)
    if (Each.joinable())
      Each.join();
  return Enough ? Status() : noThread(Name);
}

Status noThread(const std::string &Name) {
  return Status::error(StatusCode::Unavailable,
                       Name + ": cannot start a thread");
}

NoInterruptions::NoInterruptions() {
  sigset_t Blocked;
  ::sigfillset(&Blocked);
  for (int Each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGINT,
                   SIGTERM, SIGQUIT, SIGHUP})
    ::sigdelset(&Blocked, Each);
  ::pthread_sigmask(SIG_BLOCK, &Blocked, &Before);
}

NoInterruptions::~NoInterruptions() {
  ::pthread_sigmask(SIG_SETMASK, &Before, nullptr);
}

Expected<GrpcAddress> GrpcAddress::parse(const RunnerString &Address,
                                         const std::string &Target) {
  GrpcAddress A;
  constexpr std::string_view Unix = "unix:";
  if (Target.rfind("//", 0) == 0)
    return Address.errorAtTarget("expected grpc:HOST:PORT, without slashes");
  if (Target.rfind(Unix, 0) == 0 || Target.rfind('/', 0) == 0) {
    A.Path = Target[0] == '/' ? Target : Target.substr(Unix.size());
    // A path of 107 bytes is the longest that sockets can have.
    if (A.Path.empty() || A.Path.size() > 107)
      return Address.errorAtTarget("expected the path of a socket, of up to "
                                   "107 bytes");
    // Its clients take that for two sockets, however it is written.
    if (A.Path.find(',') != A.Path.npos)
      return Address.errorAtTarget("gRPC has no sockets with a comma in their "
                                   "path");
    return A;
  }
  size_t Colon = Target.rfind(':');
  if (Colon == Target.npos || Colon == 0 || Colon + 1 == Target.size())
    return Address.errorAtTarget("expected HOST:PORT or unix:PATH");
  A.Host = Target.substr(0, Colon);
  A.Port = Target.substr(Colon + 1);
  bool Digits = A.Port.find_first_not_of("0123456789") == A.Port.npos;
  if (!Digits || A.Port.size() > 5 || std::stoul(A.Port) > 65535)
    return Address.errorAtTarget("'" + A.Port + "' is no port");
  if (A.Host.find(':') != A.Host.npos && A.Host[0] != '[')
    return Address.errorAtTarget("write an IPv6 address in brackets: [::1]");
  return A;
}

std::string GrpcAddress::target() const {
  // Other names would be taken for schemes of gRPC's.
  if (Path.empty())
    return "dns:///" + Host + ":" + Port;
  // A URI: as it is, a path could name another socket.
  constexpr std::string_view Plain = "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789/-._~";
  constexpr char Hex[] = "0123456789ABCDEF";
  std::string Uri = "unix:";
  for (unsigned char Each : Path)
    if (Plain.find(char(Each)) != Plain.npos)
      Uri += char(Each);
    else
      Uri.append({'%', Hex[Each >> 4], Hex[Each & 15]});
  return Uri;
}

std::string GrpcAddress::boundTarget() const {
  return Path.empty() ? Host + ":" + Port : target();
}

bool GrpcAddress::isLocal() const {
  return !Path.empty() || Host == "localhost" || Host == "[::1]" ||
         (Host.rfind("127.", 0) == 0 &&
          Host.find_first_not_of("0123456789.") == Host.npos);
}

std::shared_ptr<grpc::Channel>
makeChannel(const GrpcAddress &To, const Security &By, size_t MaxMessage) {
  grpc::ChannelArguments Args;
  Args.SetMaxReceiveMessageSize(grpcLimit(MaxMessage));
  Args.SetMaxSendMessageSize(-1);
  // A request that may have been seen is not sent again.
  Args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Of its own, so that closing it closes the connection.
  Args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // One that did not connect keeps gRPC busy until its next try.
  Args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  Args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Nobody but the runner string says where the features go.
  Args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  Args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  if (!By.serverName().empty())
    Args.SetSslTargetNameOverride(By.serverName());
  return grpc::CreateCustomChannel(To.target(), By.clientCredentials(), Args);
}

Status failedCall(const std::string &Name, const grpc::Status &How) {
  std::string Why = How.error_message().substr(0, 500);
  switch (How.error_code()) {
  case grpc::StatusCode::OK:
  case grpc::StatusCode::UNAVAILABLE:
  case grpc::StatusCode::CANCELLED:
    return Status::error(StatusCode::PeerClosed,
                         Name + " closed the connection" +
                             (Why.empty() ? "" : ": " + Why));
  case grpc::StatusCode::DEADLINE_EXCEEDED:
    return Status::error(StatusCode::Timeout, "no answer from " + Name);
  case grpc::StatusCode::UNAUTHENTICATED:
  case grpc::StatusCode::PERMISSION_DENIED:
    return Status::error(StatusCode::Unavailable, Name + " refuses: " + Why);
  case grpc::StatusCode::UNIMPLEMENTED:
  case grpc::StatusCode::RESOURCE_EXHAUSTED:
    return Status::error(StatusCode::Protocol, Name + ": " + Why);
  default:
    return Status::error(StatusCode::PeerError,
                         Name + ": " + Why + " (gRPC code " +
                             std::to_string(How.error_code()) + ")");
  }
}

Status cannotServe(const std::string &Name, const GrpcAddress &Where,
                   bool Tls) {
  Status Why =
      Where.Path.empty() ? os::tryBind(Where.Host, Where.Port) : Status();
  return Status::error(StatusCode::Unavailable,
                       "cannot serve " + Name + ": " +
                           (!Why.ok() ? Why.message()
                            : Tls ? "tls_key= may not be the key of tls_cert="
                                  : "gRPC does not tell why"));
}

gpr_timespec grpcTime(Deadline D) {
  if (D.isNever())
    return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  std::chrono::nanoseconds Left = D.remaining();
  // gRPC would round it up to a whole millisecond.
  if (Left == std::chrono::nanoseconds::zero())
    return gpr_time_0(GPR_CLOCK_MONOTONIC);
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(Left.count(), GPR_TIMESPAN));
}

int grpcLimit(size_t Size) {
  return int(std::min<size_t>(Size, INT32_MAX - FrameMessage::MaxHeader) +
             FrameMessage::MaxHeader);
}

grpc::ByteBuffer makeMessage(FrameMessage &As, FrameHeader Header,
                             const Message &Payload, std::string_view Context) {
  Header.Length = Payload.size();
  Bytes First = Payload.own();
  if (First.empty() && !Payload.lent().empty())
    First = Payload.lent()[0];
  unsigned char Encoded[FrameMessage::MaxHeader];
  size_t Size = As.encode(Header, First, Encoded);
  std::string Behind = FrameMessage::encodeContext(Context);
  grpc_slice Whole = grpc_slice_malloc(Size + Payload.size() + Behind.size());
  uint8_t *At = GRPC_SLICE_START_PTR(Whole);
  auto Append = [&At](const void *From, size_t Count) {
    if (Count)
      std::memcpy(At, From, Count);
    At += Count;
  };
  Append(Encoded, Size);
  Append(Payload.own().data(), Payload.own().size());
  for (Bytes Piece : Payload.lent())
    Append(Piece.data(), Piece.size());
  Append(Behind.data(), Behind.size());
  grpc::Slice One(Whole, grpc::Slice::STEAL_REF);
  return {&One, 1};
}

Expected<Frame> Inbox::take(FrameMessage &As, const grpc::ByteBuffer &From,
                            size_t MaxMessage, FrameMessage::Unary *By) {
  std::vector<grpc::Slice> Slices;
  if (!From.Dump(&Slices).ok())
    return Status::error(StatusCode::Protocol, "a message without bytes");
  size_t Total = From.Length();
  auto CopyTo = [&](unsigned char *To, size_t Most) {
    for (const grpc::Slice &Each : Slices) {
      size_t Size = std::min(Most, Each.size());
      std::memcpy(To, Each.begin(), Size);
      To += Size;
      Most -= Size;
    }
  };
  // So that the payload, behind its header, is aligned.
  unsigned char Beginning[FrameMessage::MaxHeader];
  size_t Known = std::min(Total, sizeof(Beginning));
  CopyTo(Beginning, Known);
  size_t Offset = FrameMessage::payloadOffset({Beginning, Known});
  size_t Place = alignUp(Offset) - Offset;
  Latest.reset();
  Latest = Buffers.take();
  if (!Latest->reserve(Place + Total + 1, 0))
    return Status::error(StatusCode::Protocol,
                         "no memory for " + std::to_string(Total) + " bytes");
  CopyTo(Latest->data() + Place, Total);
  Expected<Frame> F = As.decode({Latest->data() + Place, Total}, By);
  if (!F)
    return F;
  if (F->Payload.size() > MaxMessage)
    return Status::error(StatusCode::Protocol,
                         "a message of " + std::to_string(F->Payload.size()) +
                             " bytes; the limit is " +
                             std::to_string(MaxMessage));
  if (reinterpret_cast<uintptr_t>(F->Payload.data()) % TensorAlignment) {
    std::memmove(Latest->data(), F->Payload.data(), F->Payload.size());
    F->Payload = {Latest->data(), F->Payload.size()};
  }
  return F;
}

} // namespace cbridge
