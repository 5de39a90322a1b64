//===- HostProcess.cpp - Where models answer clang ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "HostProcess.h"

#include "EndProcesses.h"

#include "interactive/ModelAdvisor.h"
#include "os/FileSet.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr std::chrono::seconds Grace(10);

/// A Report on its way.
struct Packet {
  uint64_t Decisions, Replaced;
  char Failure[2000], Illegal[500];
};

template <size_t N> void store(char (&To)[N], const std::string &From) {
  size_t Size = std::min(From.size(), N - 1);
  std::memcpy(To, From.data(), Size);
  To[Size] = 0;
}

void send(int Line, const ModelAdvisor &Of, const Status &HostFailure) {
  Packet P = {};
  P.Decisions = Of.decisions();
  P.Replaced = Of.replaced();
  const Status &Why = Of.failure().ok() ? HostFailure : Of.failure();
  store(P.Failure, Why.message());
  store(P.Illegal, Of.illegal().message());
  ::send(Line, &P, sizeof(P), MSG_NOSIGNAL);
}

void prepare() {
  // Who looks after clang decides what a signal means.
  for (int Signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
    ::signal(Signal, SIG_IGN);
  sigset_t None;
  sigemptyset(&None);
  ::sigprocmask(SIG_SETMASK, &None, nullptr);
  // Whatever a model's library prints is not the compiler's product.
  if (int Null = ::open("/dev/null", O_RDONLY); Null >= 0)
    ::dup2(Null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

/// Waits, beside a model that may never answer, until who looks after clang is
/// gone.
struct Watch {
  int Line;
  std::string Folder;

  static void *run(void *Of) {
    auto *W = static_cast<Watch *>(Of);
    pollfd File = {W->Line, 0, 0}; // wakes when the other end is closed
    os::pollUntil(&File, 1, Deadline::never());
    endProcessesNaming(W->Folder);
    os::removeDirectory(W->Folder);
    ::_exit(0);
  }
  bool start() {
    pthread_t Thread;
    return ::pthread_create(&Thread, nullptr, run, this) == 0;
  }
};

/// Answers until told to stop.
void serve(InteractiveHost &Host, std::vector<ModelAdvisor> &Advisors,
           int Line) {
  Status HostFailure;
  for (;;) {
    Expected<const InteractiveQuestion *> Q =
        Host.next(Deadline::never(), Line);
    if (!Q)
      HostFailure = Q.status();
    if (!Q || !*Q)
      break;
    if (Expected<bool> Sent = Host.reply(Advisors[(*Q)->Channel].answer(**Q));
        !Sent) {
      HostFailure = Sent.status();
      break;
    }
  }
  char Word;
  if (HostFailure.ok() && ::recv(Line, &Word, 1, MSG_DONTWAIT) != 1)
    for (;;) // nobody is there, and Watch ends us
      ::pause();
  for (const ModelAdvisor &Each : Advisors)
    send(Line, Each, HostFailure);
}

} // namespace

Expected<HostProcess>
HostProcess::start(InteractiveHost &Host,
                   const std::vector<std::string> &Runners,
                   const std::string &Folder) {
  int Ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, Ends) != 0)
    return os::lastError("socketpair");
  os::File Ours = os::aboveStandard(os::File(Ends[0])),
           Theirs = os::aboveStandard(os::File(Ends[1]));
  pid_t Id = ::fork();
  if (Id < 0)
    return os::lastError("fork");
  if (Id > 0)
    return HostProcess(Id, std::move(Ours));

  Ours.close();
  prepare();
  Watch Outer = {Theirs.get(), Folder};
  if (!Outer.start())
    ::_exit(1);
  {
    std::vector<ModelAdvisor> Advisors;
    Advisors.reserve(Runners.size());
    for (const std::string &Runner : Runners)
      Advisors.emplace_back(Runner);
    serve(Host, Advisors, Theirs.get());
  } // lets go of models
  ::_exit(0);
}

HostProcess::~HostProcess() {
  if (Id > 0) {
    ::kill(Id, SIGKILL);
    reap();
  }
}

/// How it ended.
std::string HostProcess::reap() {
  int Status = 0;
  pid_t Ended;
  do
    Ended = ::waitpid(Id, &Status, 0);
  while (Ended < 0 && errno == EINTR);
  Id = -1;
  if (Ended > 0 && WIFSIGNALED(Status))
    return "signal " + std::to_string(WTERMSIG(Status));
  return "exit status " + std::to_string(WEXITSTATUS(Status));
}

Expected<std::vector<Report>> HostProcess::finish(size_t Channels) {
  ::send(Line.get(), "e", 1, MSG_NOSIGNAL);
  std::vector<Report> Reports;
  Deadline Until = Deadline::in(Grace);
  while (Reports.size() < Channels) {
    Packet P;
    if (os::waitReadable(Line.get(), Until) != os::Ready::Yes ||
        ::recv(Line.get(), &P, sizeof(P), MSG_DONTWAIT) != sizeof(P))
      break;
    P.Failure[sizeof(P.Failure) - 1] = P.Illegal[sizeof(P.Illegal) - 1] = 0;
    Reports.push_back({P.Decisions, P.Replaced, P.Failure, P.Illegal});
  }
  // It may take a moment to end what models have started.
  while (Id > 0 && !os::hungUp(Line.get()) &&
         os::waitReadable(Line.get(), Until) == os::Ready::Yes) {
  }
  bool Late = !os::hungUp(Line.get());
  if (Late)
    ::kill(Id, SIGKILL);
  std::string How = reap();
  if (Reports.size() == Channels)
    return Reports;
  return Status::error(StatusCode::ModelError,
                       Late ? "the model does not come to an end"
                            : "the process that the model ran in ended by " +
                                  How);
}

} // namespace cbridge::driver
