//===- GrpcServer.cpp - Calls that a peer serves --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/channel/GrpcServer.h"

#include "modules/grpc/channel/UnaryConnection.h"

#include <algorithm>

#include <sys/eventfd.h>
#include <unistd.h>

namespace cbridge {

/// Messages that wait for the peer; more wait in the compiler.
static constexpr size_t MostWaiting = 16;

/// How long a compiler has to read what it was sent before it gets more.
static constexpr std::chrono::milliseconds TimeToRead(100);

/// How long calls that have ended have to be over when a server stops.
static constexpr std::chrono::milliseconds FarewellTime(200);

Event::Event() : File(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Event::set() {
  uint64_t One = 1;
  (void)!::write(File.get(), &One, sizeof(One));
}

void Event::reset() {
  uint64_t Count;
  (void)!::read(File.get(), &Count, sizeof(Count));
}

/// What a message begins with: its kind and its session, in however many pieces
/// it has come.
static std::string beginning(const grpc::ByteBuffer &Of) {
  std::vector<grpc::Slice> Slices;
  std::string Begins;
  if (!Of.Dump(&Slices).ok())
    return Begins;
  for (const grpc::Slice &Each : Slices) {
    if (Begins.size() >= FrameMessage::MaxHeader)
      break;
    Begins.append(
        reinterpret_cast<const char *>(Each.begin()),
        std::min(Each.size(), FrameMessage::MaxHeader - Begins.size()));
  }
  return Begins;
}

static Bytes asBytes(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

std::optional<Said> ServedCall::take() {
  std::lock_guard<std::mutex> Lock(Using);
  if (Queue.empty())
    return std::nullopt;
  std::optional<Said> Oldest(std::move(Queue.front()));
  Queue.pop_front();
  if (Queue.empty() && !Ended)
    Came->reset();
  if (!Reading && !Ended)
    read();
  return Oldest;
}

bool ServedCall::ended() {
  std::lock_guard<std::mutex> Lock(Using);
  return Ended;
}

bool ServedCall::readable() {
  std::lock_guard<std::mutex> Lock(Using);
  return Ended || !Queue.empty();
}

/// No more will come. Using is held.
void ServedCall::endQueue() {
  Ended = true;
  Of->forget(this, Session);
  if (Came)
    Came->set();
  Written.notify_all();
}

/// Using is held.
void ServedCall::read() {
  Reading = Of->post(shared_from_this(), Step::Read,
                     [this](void *Tag) { Stream.Read(&In, Tag); });
  if (!Reading)
    endQueue();
}

Status ServedCall::write(const grpc::ByteBuffer &Out, Deadline Until,
                         const std::string &Name) {
  std::unique_lock<std::mutex> Lock(Using);
  auto Idle = [this] { return !Writing || Finished; };
  // It asks again only when it has what was sent before. One that does not read
  // must not keep the others waiting.
  Deadline Soon = Until & Deadline::in(TimeToRead);
  if (!Written.wait_until(Lock, Soon.end(), Idle))
    return Status::error(StatusCode::Timeout,
                         Name + " does not take the message");
  if (!Finished)
    Writing = Of->post(shared_from_this(), Step::Write,
                       [&](void *Tag) { Stream.Write(Out, Tag); });
  if (Finished || !Writing)
    return Status::error(StatusCode::PeerClosed,
                         Name + " closed the connection");
  return Status();
}

/// Using is held.
void ServedCall::end(const grpc::Status &With) {
  if (Finished)
    return;
  Finished = true;
  (void)Of->post(shared_from_this(), Step::Finish,
                 [&](void *Tag) { Stream.Finish(With, Tag); });
  Written.notify_all();
}

void ServedCall::finish() {
  std::deque<Said> Left;
  {
    std::lock_guard<std::mutex> Lock(Using);
    FinishWanted = true;
    if (!Ended)
      endQueue();
    if (!Writing)
      end(grpc::Status::OK);
    Left.swap(Queue);
  }
  for (Said &Each : Left)
    if (Each.By)
      Each.By->refuse(grpc::StatusCode::FAILED_PRECONDITION,
                      "the session is over");
}

void ServedCall::answer(const grpc::ByteBuffer &With) {
  std::lock_guard<std::mutex> Lock(Using);
  if (Finished)
    return;
  Finished = true;
  (void)Of->post(shared_from_this(), Step::Finish, [&](void *Tag) {
    Stream.WriteAndFinish(With, grpc::WriteOptions(), grpc::Status::OK, Tag);
  });
}

void ServedCall::refuse(grpc::StatusCode Code, const char *Why) {
  std::lock_guard<std::mutex> Lock(Using);
  end(grpc::Status(Code, Why));
}

grpc::Status ServedCall::add(Said Next) {
  std::lock_guard<std::mutex> Lock(Using);
  if (Ended)
    return {grpc::StatusCode::FAILED_PRECONDITION, "the session is over"};
  if (Queue.size() >= MostWaiting)
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            "the session has too many open questions"};
  Queue.push_back(std::move(Next));
  Came->set();
  return grpc::Status::OK;
}

void ServedCall::accept() {
  (void)Of->post(shared_from_this(), Step::Accept, [this](void *Tag) {
    Of->Service.RequestCall(&Context, &Stream, Of->Queue.get(), Of->Queue.get(),
                            Tag);
  });
}

/// Using is held.
void ServedCall::accepted() {
  Of->acceptNext();
  Advises = Context.method() == AdviceMethod;
  if (!Of->Guard.allows(Context.client_metadata()))
    end(grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                     "the call has not the token of this peer"));
  else if (Advises || Context.method() == ConverseMethod)
    read();
  else
    end(grpc::Status(grpc::StatusCode::UNIMPLEMENTED,
                     "this peer serves converse and getAdvice"));
}

/// A call that says nothing does not get a file.
bool ServedCall::openFile() {
  Came.emplace();
  if (Came->file() >= 0)
    return true;
  Came.reset();
  Ended = true;
  return false;
}

/// A message of this session. Using is held.
void ServedCall::heard(bool Ok) {
  if (!Ok) {
    endQueue();
    if (!Known) // it left without a word
      end(grpc::Status::OK);
    return;
  }
  std::string Begins = beginning(In);
  if (!Known && !openFile())
    return end(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "this peer has no more files"));
  Queue.push_back({In});
  In.Clear();
  Came->set();
  if (!Known) {
    Session = FrameMessage::sessionOf(asBytes(Begins));
    Of->speaks(shared_from_this(), Session);
  }
  Known = true;
  // A compiler that goes does not wait for the peer.
  if (FrameMessage::kindOf(asBytes(Begins)) == FrameKind::Bye) {
    endQueue();
    FinishWanted = true;
    if (!Writing)
      end(grpc::Status::OK);
  } else if (Queue.size() < MostWaiting) {
    read();
  }
}

/// A question for another call's session.
void ServedCall::asked(bool Ok) {
  if (!Ok)
    return refuse(grpc::StatusCode::INVALID_ARGUMENT, "no observation");
  std::string Begins = beginning(In);
  FrameKind Kind = FrameMessage::kindOf(asBytes(Begins));
  if (Kind != FrameKind::Request && Kind != FrameKind::End)
    return refuse(grpc::StatusCode::INVALID_ARGUMENT,
                  "an observation of another kind than REQUEST and END");
  std::shared_ptr<ServedCall> To =
      Of->find(FrameMessage::sessionOf(asBytes(Begins)));
  if (!To)
    return refuse(grpc::StatusCode::FAILED_PRECONDITION,
                  "there is no such session; converse begins one");
  bool Waits = Kind == FrameKind::Request;
  grpc::Status Added =
      To->add({In, /*Unary=*/true, Waits ? shared_from_this() : nullptr});
  In.Clear();
  if (!Added.ok())
    refuse(Added.error_code(), Added.error_message().c_str());
  else if (!Waits)
    answer(grpc::ByteBuffer(nullptr, 0)); // an empty Advice
}

void ServedCall::done(Step S, bool Ok) {
  if (S == Step::Read && Advises)
    return asked(Ok); // with no lock held, since it takes another call's
  std::lock_guard<std::mutex> Lock(Using);
  switch (S) {
  case Step::Accept:
    if (Ok) // else the server stops
      accepted();
    return;
  case Step::Read:
    Reading = false;
    heard(Ok);
    return;
  case Step::Write:
    Writing = false;
    if (FinishWanted)
      end(grpc::Status::OK);
    Written.notify_all();
    return;
  case Step::Finish:
    return;
  }
}

// A compiler has a connection of its own for each runner.
GrpcServer::GrpcServer() : GenericServer(/*MostCalls=*/100) {}

GrpcServer::~GrpcServer() { stop(); }

void GrpcServer::stop() {
  // What was said last may still be on its way.
  GenericServer::stop(FarewellTime);
  std::lock_guard<std::mutex> Lock(Using);
  Waiting.clear();
}

void GrpcServer::done(void *Came, bool Ok) {
  std::unique_ptr<Tag> Done(static_cast<Tag *>(Came));
  Done->Of->done(Done->Step, Ok);
}

void GrpcServer::acceptNext() {
  std::make_shared<ServedCall>(shared_from_this())->accept();
}

void GrpcServer::speaks(std::shared_ptr<ServedCall> Call, uint64_t Session) {
  std::lock_guard<std::mutex> Lock(Using);
  if (Session)
    Sessions.try_emplace(Session, Call);
  Waiting.push_back(std::move(Call));
  Came.set();
}

void GrpcServer::forget(const ServedCall *Call, uint64_t Session) {
  std::shared_ptr<ServedCall> Held; // not to be the last to hold it
  std::lock_guard<std::mutex> Lock(Using);
  auto Found = Sessions.find(Session);
  if (Found == Sessions.end())
    return;
  Held = Found->second.lock();
  if (!Held || Held.get() == Call)
    Sessions.erase(Found);
}

std::shared_ptr<ServedCall> GrpcServer::find(uint64_t Session) {
  std::lock_guard<std::mutex> Lock(Using);
  auto Found = Sessions.find(Session);
  return Found == Sessions.end() ? nullptr : Found->second.lock();
}

std::shared_ptr<ServedCall> GrpcServer::take() {
  std::lock_guard<std::mutex> Lock(Using);
  if (Waiting.empty())
    return nullptr;
  std::shared_ptr<ServedCall> Oldest = std::move(Waiting.front());
  Waiting.pop_front();
  if (Waiting.empty())
    Came.reset();
  return Oldest;
}

bool GrpcServer::readable() {
  std::lock_guard<std::mutex> Lock(Using);
  return !Waiting.empty();
}

} // namespace cbridge
