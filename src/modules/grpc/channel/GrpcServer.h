//===- GrpcServer.h - Calls that a peer serves ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_CHANNEL_GRPCSERVER_H
#define CBRIDGE_MODULES_GRPC_CHANNEL_GRPCSERVER_H

#include "modules/grpc/GenericServer.h"
#include "os/File.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <optional>

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
class ServedCall;

/// A message of a session.
struct Said {
  grpc::ByteBuffer What;
  /// It came by getAdvice, not by the session's own call.
  bool Unary = false;
  /// The call of getAdvice that waits for the answer, or null.
  std::shared_ptr<ServedCall> By = nullptr;
};

/// One call: of `converse`, which is a session, or of `getAdvice`, which adds
/// one message to a session. Its steps end in the server's thread, which puts
/// what has come into the session's queue; everything else is the peer's
/// thread.
class ServedCall : public std::enable_shared_from_this<ServedCall> {
public:
  explicit ServedCall(std::shared_ptr<GrpcServer> Of) : Of(std::move(Of)) {}

  // Of a session, by the peer's thread.

  /// The oldest message that has come.
  std::optional<Said> take();
  /// No more will come.
  bool ended();
  /// Something has come, or it has ended.
  bool readable();
  int file() const { return Came->file(); }
  /// Sends, once what was sent before has left.
  Status write(const grpc::ByteBuffer &Out, Deadline Until,
               const std::string &Name);
  /// Ends the call, once what was sent has left, and those of getAdvice that
  /// wait.
  void finish();

  // Of getAdvice, by any thread.

  void answer(const grpc::ByteBuffer &With);
  void refuse(grpc::StatusCode Code, const char *Why);

  // Of the server's thread.

  enum class Step { Accept, Read, Write, Finish };
  void done(Step S, bool Ok);
  void accept();

private:
  void accepted();
  bool openFile();
  void heard(bool Ok);
  void asked(bool Ok);
  /// Takes a message that has come by another call.
  grpc::Status add(Said Next);
  void read();
  void end(const grpc::Status &With);
  void endQueue();

  std::shared_ptr<GrpcServer> Of;
  grpc::GenericServerContext Context;
  grpc::GenericServerAsyncReaderWriter Stream{&Context};
  grpc::ByteBuffer In;
  std::mutex Using;
  std::condition_variable Written;
  std::deque<Said> Queue;
  std::optional<Event> Came; // of a session
  uint64_t Session = 0;
  bool Advises = false; // a call of getAdvice
  bool Reading = false, Writing = false, Ended = false, Known = false;
  bool FinishWanted = false, Finished = false;
};

/// A peer's server.
class GrpcServer : public GenericServer,
                   public std::enable_shared_from_this<GrpcServer> {
public:
  GrpcServer();
  ~GrpcServer() override;
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
    auto *Next = new Tag{std::move(Call), Step};
    handsOver(Next);
    Post(Next);
    return true;
  }
  void acceptNext() override;
  void done(void *Came, bool Ok) override;
  void speaks(std::shared_ptr<ServedCall> Call, uint64_t Session);
  void forget(const ServedCall *Call, uint64_t Session);
  /// The session of that number; who knows it has it from its compiler.
  std::shared_ptr<ServedCall> find(uint64_t Session);

  std::mutex Using;
  std::deque<std::shared_ptr<ServedCall>> Waiting;
  std::map<uint64_t, std::weak_ptr<ServedCall>> Sessions;
  Event Came;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_CHANNEL_GRPCSERVER_H
