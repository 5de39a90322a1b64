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
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
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
  char Failure[2000], Illegal[500], NotRecorded[500];
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
  store(P.NotRecorded, Of.notRecorded().message());
  ::send(Line, &P, sizeof(P), MSG_NOSIGNAL);
}

void prepare() {
  // Who looks after clang decides what a signal means. A terminal's are those
  // of a process in the background.
  for (int Signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTTIN, SIGTTOU})
    ::signal(Signal, SIG_IGN);
  sigset_t None;
  sigemptyset(&None);
  ::sigprocmask(SIG_SETMASK, &None, nullptr);
  // Whatever a model's library prints is not the compiler's product.
  if (int Null = ::open("/dev/null", O_RDONLY); Null >= 0)
    ::dup2(Null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

/// How long one answer may take, in which the model may be opened: what its
/// runner allows itself, and a minute for models that know no deadline.
std::chrono::nanoseconds longestAnswer(const std::string &Runner) {
  if (std::optional<std::chrono::nanoseconds> Told = toldAnswerTimeout())
    return *Told;
  std::chrono::nanoseconds Longest = std::chrono::minutes(1);
  if (Expected<RunnerString> R = RunnerString::parse(Runner))
    for (const char *Key : {"timeout", "connect"})
      Longest += R->duration(Key, std::chrono::seconds(10))
                     .valueOr(std::chrono::seconds(10));
  return Longest;
}

/// Ends this process from beside a model that may never answer: when it takes
/// too long, and when who looks after clang is gone.
class Watch {
public:
  Watch(int Line, std::string Folder, const std::vector<std::string> &Runners)
      : Line(Line), Folder(std::move(Folder)) {
    for (const std::string &Runner : Runners)
      Longest.push_back(longestAnswer(Runner));
  }
  bool start() {
    pthread_t Thread;
    return ::pthread_create(
               &Thread, nullptr,
               [](void *Of) -> void * { static_cast<Watch *>(Of)->run(); },
               this) == 0;
  }
  /// Around each answer.
  void begin(size_t OfChannel) {
    Channel = OfChannel;
    Since = now();
  }
  void end() { Since = 0; }

private:
  static int64_t now() {
    return Deadline::Clock::now().time_since_epoch().count();
  }
  [[noreturn]] void run() {
    for (;;) {
      pollfd File = {Line, 0, 0}; // wakes when the other end is closed
      if (os::pollUntil(&File, 1, Deadline::in(std::chrono::seconds(1))) != 0)
        break;
      int64_t Began = Since;
      if (Began != 0 && now() - Began > Longest[Channel].count())
        giveUp();
    }
    endAsking(Folder, /*SignalledAlready=*/true); // clang, by the kernel
    os::removeDirectory(Folder);
    ::_exit(0);
  }
  [[noreturn]] void giveUp() const {
    for (size_t I = 0; I < Longest.size(); ++I) {
      Packet P = {};
      if (I == Channel)
        store(P.Failure,
              "no answer within " +
                  std::to_string(Longest[I] / std::chrono::seconds(1)) + " s");
      ::send(Line, &P, sizeof(P), MSG_NOSIGNAL);
    }
    ::_exit(1);
  }

  const int Line;
  const std::string Folder;
  std::vector<std::chrono::nanoseconds> Longest; // of each channel
  std::atomic<size_t> Channel{0};
  std::atomic<int64_t> Since{0}; // 0: nobody waits
};

/// Answers until told to stop.
void serve(InteractiveHost &Host, std::vector<ModelAdvisor> &Advisors,
           Watch &Beside, int Line) {
  Status HostFailure;
  for (;;) {
    Expected<const InteractiveQuestion *> Q =
        Host.next(Deadline::never(), Line);
    if (!Q)
      HostFailure = Q.status();
    if (!Q || !*Q)
      break;
    Beside.begin((*Q)->Channel);
    Bytes Advice = Advisors[(*Q)->Channel].answer(**Q);
    Beside.end();
    if (Expected<bool> Sent = Host.reply(Advice); !Sent) {
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

std::optional<std::chrono::nanoseconds> toldAnswerTimeout() {
  const char *Given = std::getenv("CBRIDGE_ANSWER_TIMEOUT");
  double Seconds = Given ? std::atof(Given) : 0;
  if (Seconds > 0 && Seconds < 1e9)
    return std::chrono::nanoseconds(int64_t(Seconds * 1e9));
  return std::nullopt;
}

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
  // Who kills our whole group is not to kill the one that cleans up; both do
  // this, as either may be the first to go on.
  ::setpgid(Id, Id);
  if (Id > 0)
    return HostProcess(Id, std::move(Ours));

  Ours.close();
  prepare();
  Watch Beside(Theirs.get(), Folder, Runners);
  if (!Beside.start())
    ::_exit(1);
  {
    std::vector<ModelAdvisor> Advisors;
    Advisors.reserve(Runners.size());
    for (const std::string &Runner : Runners)
      Advisors.emplace_back(Runner);
    serve(Host, Advisors, Beside, Theirs.get());
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
    P.Failure[sizeof(P.Failure) - 1] = P.Illegal[sizeof(P.Illegal) - 1] =
        P.NotRecorded[sizeof(P.NotRecorded) - 1] = 0;
    Reports.push_back(
        {P.Decisions, P.Replaced, P.Failure, P.Illegal, P.NotRecorded});
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
