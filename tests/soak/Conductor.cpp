//===- Conductor.cpp - Starts, kills and counts ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Soak.h"

#include "os/File.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace cbridge::soak {

void Board::violation(const std::string &What) {
  uint64_t Number = Violations++;
  if (Number < Shown)
    std::snprintf(Text[Number], sizeof(Text[Number]), "%s", What.c_str());
}

int64_t nanoseconds() {
  return Deadline::Clock::now().time_since_epoch().count();
}

Belongings belongingsOf(pid_t Process) {
  Belongings Has;
  std::string Folder = "/proc/" + std::to_string(Process);
  std::error_code Gone;
  for (std::filesystem::directory_iterator Each(Folder + "/fd", Gone), End;
       !Gone && Each != End; Each.increment(Gone))
    ++Has.Files;
  std::ifstream Maps(Folder + "/maps"), Status(Folder + "/status");
  for (std::string Line; std::getline(Maps, Line);)
    Has.Memories += Line.find("memfd:compiler-bridge") != Line.npos;
  for (std::string Line; std::getline(Status, Line);)
    if (Line.rfind("RssAnon:", 0) == 0)
      Has.HeapBytes = std::stoul(Line.substr(8)) * 1024;
  return Has;
}

namespace {

/// No session takes this long, whatever happens to its peer.
constexpr seconds LongestSession(45);
/// The first peer may keep this much more than after the first sessions.
constexpr size_t MostGrowth = size_t(Sanitized ? 512 : 16) << 20;

class Conductor {
public:
  Conductor(const Plan &P, const volatile std::sig_atomic_t &Interrupted)
      : P(P), Interrupted(Interrupted), Random(P.Seed) {
    void *Memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (Memory == MAP_FAILED)
      std::abort();
    B = new (Memory) Board;
  }
  ~Conductor() { ::munmap(B, sizeof(Board)); }

  bool run() {
    Expected<std::string> Made = os::makePrivateDirectory();
    if (!Made) {
      std::fprintf(stderr, "soak: %s\n", Made.status().toString().c_str());
      return false;
    }
    Folder = *Made;
    for (size_t I = 0; I < Peers; ++I)
      Addresses.push_back(P.Channel + (P.Channel == "grpc" ? ":unix:" : ":") +
                          Folder + "/peer" + std::to_string(I));
    for (size_t I = 0; I < Peers; ++I)
      startPeer(I);
    if (awaitServing())
      AtFirst = belongingsOf(Peer[0]);
    for (size_t I = 0; I < Compilers; ++I)
      startCompiler(I);
    conductAll();
    finish();
    report();
    return B->Violations == 0;
  }

private:
  pid_t start(const std::function<int()> &Body) {
    std::fflush(stdout);
    pid_t Parent = ::getpid(), Child = ::fork();
    if (Child == 0) {
      ::signal(SIGINT, SIG_IGN); // the conductor tells us
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::_exit(::getppid() == Parent ? Body() : 1);
    }
    if (Child < 0)
      B->violation("fork: " + os::lastError("fork").message());
    return Child;
  }
  void startPeer(size_t I) {
    Peer[I] = start([&] { return runPeer(*B, I, Addresses[I]); });
  }
  void startCompiler(size_t I) {
    uint64_t Seed = Random();
    B->Compiler[I].Since = 0;
    Compiler[I] = start([&] { return runCompiler(*B, I, P, Addresses, Seed); });
  }
  bool awaitServing() {
    Deadline Until = Deadline::in(seconds(20));
    os::Backoff Pause;
    while (B->Peer[0].Generation % 2)
      if (!Pause.pause(Until)) {
        B->violation("the first peer does not serve");
        return false;
      }
    return true;
  }

  /// Replaces who has died; only a SIGKILL is no surprise.
  void reap() {
    int Code = 0;
    for (pid_t Dead; (Dead = ::waitpid(-1, &Code, WNOHANG)) > 0;) {
      bool Killed = WIFSIGNALED(Code) && WTERMSIG(Code) == SIGKILL;
      for (size_t I = 0; I < Peers; ++I)
        if (Peer[I] == Dead) {
          if (!Killed || I == 0)
            B->violation("a peer ended with " + std::to_string(Code));
          ++PeersLost;
          startPeer(I);
        }
      for (size_t I = 0; I < Compilers; ++I)
        if (Compiler[I] == Dead) {
          if (!Killed)
            B->violation("a compiler ended with " + std::to_string(Code));
          ++CompilersLost;
          startCompiler(I);
        }
    }
  }

  void makeTrouble() {
    if (Random() % 40 == 0) {
      size_t I = 1 + Random() % (Peers - 1);
      uint64_t Serving = B->Peer[I].Generation;
      // One that dies by itself at this moment says so itself.
      if (Serving % 2 == 0 &&
          B->Peer[I].Generation.compare_exchange_strong(Serving, Serving + 1))
        ::kill(Peer[I], SIGKILL);
    }
    if (Random() % 20 == 0)
      ::kill(Compiler[Random() % Compilers], SIGKILL);
    if (Stopped >= 0)
      ::kill(Compiler[size_t(Stopped)], SIGCONT);
    Stopped = -1;
    if (Random() % 20 == 0) {
      Stopped = int(Random() % Compilers);
      ::kill(Compiler[size_t(Stopped)], SIGSTOP);
    }
  }

  void lookForHangs() {
    int64_t Now = nanoseconds();
    for (size_t I = 0; I < Compilers; ++I) {
      int64_t Since = B->Compiler[I].Since;
      if (!Since || std::chrono::nanoseconds(Now - Since) < LongestSession)
        continue;
      B->violation("a session does not end");
      ::kill(Compiler[I], SIGKILL);
      B->Compiler[I].Since = 0;
    }
  }

  void conductAll() {
    auto Shown = Begin;
    uint64_t ShownSessions = 0, WarmedUp = 0;
    Deadline Until =
        P.Longest.count() ? Deadline::in(P.Longest) : Deadline::never();
    while (B->Sessions < P.Sessions && !Interrupted && !Until.passed() &&
           B->Violations < Board::Shown) {
      ::usleep(5000);
      makeTrouble();
      reap();
      lookForHangs();
      auto Now = Deadline::Clock::now();
      bool Warm = B->Sessions > std::min<uint64_t>(P.Sessions / 5, 5000) ||
                  (P.Longest.count() && Now - Begin > P.Longest / 3);
      if (!WarmedUp && Warm) {
        WarmedUp = B->Sessions;
        AfterAWhile = belongingsOf(Peer[0]);
      }
      if (Now - Shown < seconds(3))
        continue;
      double Past = std::chrono::duration<double>(Now - Shown).count();
      std::printf("%-5s %8llu of %zu sessions, %6.0f/s\n", P.Channel.c_str(),
                  static_cast<unsigned long long>(B->Sessions.load()),
                  P.Sessions, double(B->Sessions - ShownSessions) / Past);
      std::fflush(stdout);
      Shown = Now;
      ShownSessions = B->Sessions;
    }
    Took = Deadline::Clock::now() - Begin;
  }

  /// Kills what does not end by itself.
  void await(pid_t Child, const char *Who) {
    Deadline Until = Deadline::in(LongestSession);
    os::Backoff Pause;
    int Code = 0;
    ::kill(Child, SIGCONT);
    while (::waitpid(Child, &Code, WNOHANG) == 0)
      if (!Pause.pause(Until)) {
        B->violation(std::string(Who) + " does not end");
        ::kill(Child, SIGKILL);
        ::waitpid(Child, &Code, 0);
        return;
      }
    if (Code != 0 && !(WIFSIGNALED(Code) && WTERMSIG(Code) == SIGKILL))
      B->violation(std::string(Who) + " ended with " + std::to_string(Code));
  }

  /// Nothing may be left: in the first peer, which has seen it all, or here.
  void finish() {
    for (pid_t Each : Compiler)
      ::kill(Each, SIGKILL);
    for (pid_t Each : Compiler)
      await(Each, "a compiler");
    Deadline Until = Deadline::in(seconds(10));
    os::Backoff Pause;
    do
      AtLast = belongingsOf(Peer[0]);
    while ((AtLast.Files != AtFirst.Files || AtLast.Memories) &&
           Pause.pause(Until));
    if (AtLast.Files != AtFirst.Files)
      B->violation("the first peer had " + std::to_string(AtFirst.Files) +
                   " descriptors and has " + std::to_string(AtLast.Files));
    if (AtLast.Memories)
      B->violation("the first peer still maps " +
                   std::to_string(AtLast.Memories) + " segments");
    if (AfterAWhile.HeapBytes &&
        AtLast.HeapBytes > AfterAWhile.HeapBytes + MostGrowth)
      B->violation("the first peer grew from " +
                   std::to_string(AfterAWhile.HeapBytes >> 10) + " to " +
                   std::to_string(AtLast.HeapBytes >> 10) + " KiB");
    B->Stop = true;
    for (pid_t Each : Peer)
      await(Each, "a peer");
    if (::waitpid(-1, nullptr, WNOHANG) != -1)
      B->violation("a child is left");
    removeKilledOnes();
    for (const auto &Left : std::filesystem::directory_iterator(Folder))
      B->violation("a file is left: " + Left.path().string());
    std::filesystem::remove_all(Folder);
  }

  /// A peer that was killed last leaves its files to the next, which there is
  /// none of.
  void removeKilledOnes() {
    for (size_t I = 1; I < Peers; ++I)
      if (B->Peer[I].Generation % 2)
        for (const char *Ending : {"", ".lock", ".in", ".out"})
          ::unlink((Folder + "/peer" + std::to_string(I) + Ending).c_str());
  }

  void report() {
    double Seconds = std::chrono::duration<double>(Took).count();
    auto Number = [](uint64_t N) { return static_cast<unsigned long long>(N); };
    std::printf("%-5s %llu sessions in %.1f s (%.0f/s), %llu decisions; %llu "
                "declined, %llu broken by a death, %llu hung up; killed: %zu "
                "peers, %zu compilers%s\n",
                P.Channel.c_str(), Number(B->Sessions), Seconds,
                double(B->Sessions) / Seconds, Number(B->Decisions),
                Number(B->Failures), Number(B->Broken), Number(B->HangUps),
                PeersLost, CompilersLost, Interrupted ? "; interrupted" : "");
    std::printf("%-5s first peer: %zu descriptors, %zu KiB; after a while %zu "
                "KiB, at last %zu descriptors, %zu KiB\n",
                P.Channel.c_str(), AtFirst.Files, AtFirst.HeapBytes >> 10,
                AfterAWhile.HeapBytes >> 10, AtLast.Files,
                AtLast.HeapBytes >> 10);
    uint64_t Count = B->Violations;
    for (size_t I = 0; I < std::min<uint64_t>(Count, Board::Shown); ++I)
      std::printf("%-5s VIOLATION: %s\n", P.Channel.c_str(), B->Text[I]);
    if (Count > Board::Shown)
      std::printf("%-5s and %llu more\n", P.Channel.c_str(),
                  Number(Count - Board::Shown));
    std::fflush(stdout);
  }

  const Plan &P;
  const volatile std::sig_atomic_t &Interrupted;
  std::mt19937_64 Random;
  Board *B;
  std::string Folder;
  std::vector<std::string> Addresses;
  pid_t Peer[Peers] = {}, Compiler[Compilers] = {};
  size_t PeersLost = 0, CompilersLost = 0;
  int Stopped = -1;
  Belongings AtFirst, AfterAWhile, AtLast;
  Deadline::Clock::time_point Begin = Deadline::Clock::now();
  Deadline::Clock::duration Took{};
};

} // namespace

bool conduct(const Plan &P, const volatile std::sig_atomic_t &Interrupted) {
  return Conductor(P, Interrupted).run();
}

} // namespace cbridge::soak
