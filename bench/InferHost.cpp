//===- InferHost.cpp - Models evaluated in the compiler's process ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DIR is a model's folder (see _infer_models.py), a SIDE `NAME=WAY`: a way to
// ask (see InferSide.h) and its name in what is printed, one JSON object.
//   InferHost latency DIR THREADS SECONDS SIDE...   time per evaluation
//   InferHost scaling DIR SECONDS SIDE...   two threads compared with one
//   InferHost check DIR WAY   one answer
//   InferHost open DIR WAY   time to open
//   InferHost maps DIR RUNNER   whether ONNX Runtime gets loaded
//
//===----------------------------------------------------------------------===//
#include "InferSide.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <pthread.h>
#include <sched.h>

using namespace bench;
using Clock = std::chrono::steady_clock;

namespace {

double microseconds(Clock::time_point From) {
  return std::chrono::duration<double, std::micro>(Clock::now() - From).count();
}

double quantile(std::vector<double> Values, double Q) {
  if (Values.empty())
    return 0;
  auto At = Values.begin() + ptrdiff_t(Q * double(Values.size() - 1));
  std::nth_element(Values.begin(), At, Values.end());
  return *At;
}

double median(const std::vector<double> &Values) {
  return quantile(Values, 0.5);
}

/// What a clock read adds to an interval.
double clockCost() {
  std::vector<double> Costs;
  for (int I = 0; I < 2000; ++I)
    Costs.push_back(microseconds(Clock::now()));
  return median(Costs);
}

/// Runs Body(I) on threads that keep to a core of their own.
void onThreads(size_t Count, const std::function<void(size_t)> &Body) {
  cpu_set_t Allowed;
  CPU_ZERO(&Allowed);
  ::sched_getaffinity(0, sizeof(Allowed), &Allowed);
  std::vector<int> Cores;
  for (int C = 0; C < CPU_SETSIZE; ++C)
    if (CPU_ISSET(C, &Allowed))
      Cores.push_back(C);
  std::vector<std::thread> Threads;
  for (size_t I = 0; I < Count; ++I)
    Threads.emplace_back([&, I] {
      cpu_set_t Own;
      CPU_ZERO(&Own);
      CPU_SET(Cores[I % Cores.size()], &Own);
      ::pthread_setaffinity_np(::pthread_self(), sizeof(Own), &Own);
      Body(I);
    });
  for (std::thread &T : Threads)
    T.join();
}

/// How long this thread could have run but something else did, which does not
/// count: other programs may share the machine. 0 if the kernel does not tell.
double delayedUs() {
  unsigned long long Ran, Delayed = 0;
  if (std::FILE *F = std::fopen("/proc/thread-self/schedstat", "r")) {
    if (std::fscanf(F, "%llu %llu", &Ran, &Delayed) != 2)
      Delayed = 0;
    std::fclose(F);
  }
  return double(Delayed) / 1e3;
}

/// Sleeps, rather than spins, since who waits must not slow down who works.
class Barrier {
public:
  explicit Barrier(size_t Count) {
    ::pthread_barrier_init(&B, nullptr, unsigned(Count));
  }
  ~Barrier() { ::pthread_barrier_destroy(&B); }
  void wait() { ::pthread_barrier_wait(&B); }

private:
  pthread_barrier_t B;
};

/// Evaluations that fill so many microseconds; of quick ones there are enough
/// earlier.
size_t countFor(Asker &A, const InferModel &I, double Us) {
  constexpr size_t Enough = 1'000;
  for (size_t K = 0; K < 20; ++K)
    A.ask(I.features(K));
  auto Begin = Clock::now();
  for (size_t K = 0; K < 20; ++K)
    A.ask(I.features(K));
  return std::clamp<size_t>(size_t(Us * 20 / microseconds(Begin)), 1, Enough);
}

/// Of one side, by one thread or by all: times of evaluations in blocks that
/// no other program disturbed, and of those in the others.
struct Latency {
  std::vector<double> Us, DisturbedUs;
  size_t Blocks = 0, Disturbed = 0;
  size_t Wrong = 0;

  void add(const std::vector<double> &Block, bool WasDisturbed) {
    std::vector<double> &To = WasDisturbed ? DisturbedUs : Us;
    To.insert(To.end(), Block.begin(), Block.end());
    ++Blocks;
    Disturbed += WasDisturbed;
  }
  void add(const Latency &Other) {
    Us.insert(Us.end(), Other.Us.begin(), Other.Us.end());
    DisturbedUs.insert(DisturbedUs.end(), Other.DisturbedUs.begin(),
                       Other.DisturbedUs.end());
    Blocks += Other.Blocks;
    Disturbed += Other.Disturbed;
    Wrong += Other.Wrong;
  }
};

void printLatencies(const std::vector<Side> &Sides,
                    const std::vector<std::vector<Latency>> &OfThreads) {
  constexpr size_t Enough = 5;
  std::printf("{");
  for (size_t S = 0; S < Sides.size(); ++S) {
    Latency Sum;
    for (const std::vector<Latency> &Mine : OfThreads)
      Sum.add(Mine[S]);
    size_t Quiet = Sum.Blocks - Sum.Disturbed;
    if (Quiet < Enough)
      Sum.Us.insert(Sum.Us.end(), Sum.DisturbedUs.begin(),
                    Sum.DisturbedUs.end());
    std::printf("%s\"%s\": {\"median_us\": %.4f, \"p99_us\": %.4f, "
                "\"wrong\": %zu, \"evaluations\": %zu, "
                "\"undisturbed\": %.3f}",
                S ? ", " : "", Sides[S].Name.c_str(), median(Sum.Us),
                quantile(Sum.Us, 0.99), Sum.Wrong, Sum.Us.size(),
                double(Quiet) / double(Sum.Blocks));
  }
  std::printf("}\n");
}

int measureLatency(const std::vector<Side> &Sides, const InferModel &I,
                   size_t Threads, double Seconds) {
  // Short, so that what disturbs one side disturbs the others; but threads take
  // a while to start together.
  const double BlockUs = Threads > 1 ? 4'000 : 1'000;
  std::vector<std::vector<Latency>> All(Threads,
                                        std::vector<Latency>(Sides.size()));
  const double Clocks = clockCost();
  size_t Rounds = std::max<size_t>(
      size_t(Seconds * 1e6 / BlockUs / double(Sides.size())), 3);
  std::atomic<size_t> End = Rounds; // earlier on a machine that others use
  std::vector<size_t> Block(Sides.size());
  Barrier Together(Threads);
  onThreads(Threads, [&](size_t Me) {
    std::vector<std::unique_ptr<Asker>> Askers;
    for (const Side &S : Sides)
      Askers.push_back(S.Make());
    if (Me == 0)
      for (size_t S = 0; S < Sides.size(); ++S)
        Block[S] = countFor(*Askers[S], I, BlockUs);
    Together.wait();
    for (size_t S = 0; S < Sides.size(); ++S) {
      for (size_t K = 0; K < Block[S]; ++K)
        Askers[S]->ask(I.features(K));
      All[Me][S].Us.reserve(Rounds * Block[S]);
    }
    std::vector<double> Times;
    Times.reserve(*std::max_element(Block.begin(), Block.end()));
    size_t Turn = Me; // threads ask different questions at a time
    auto Start = Clock::now();
    for (size_t Round = 0; Round < End; ++Round) {
      for (size_t J = 0; J < Sides.size(); ++J) {
        size_t S = (Round + J) % Sides.size(); // none is always the first
        Latency &L = All[Me][S];
        Together.wait();
        Times.clear();
        double Delayed = delayedUs();
        Askers[S]->ask(I.features(Turn)); // the last side's memory is in caches
        for (size_t K = 0; K < Block[S]; ++K, ++Turn) {
          auto Begin = Clock::now();
          Span<const float> Y = Askers[S]->ask(I.features(Turn));
          Times.push_back(microseconds(Begin) - Clocks);
          L.Wrong += Sides[S].Checked && !I.isAnswer(Turn, Y);
        }
        L.add(Times, delayedUs() - Delayed > 0.03 * BlockUs);
      }
      // The others may be in this round or on their way to the next.
      if (Me == 0 && End == Rounds && microseconds(Start) > 1.5e6 * Seconds)
        End = std::min(Round + 2, Rounds);
    }
  });
  printLatencies(Sides, All);
  return 0;
}

/// Evaluations per second of both threads, divided by the mean of what each of
/// them does alone: cores may differ.
int measureScaling(const std::vector<Side> &Sides, const InferModel &I,
                   double Seconds) {
  constexpr double PhaseUs = 20'000;
  constexpr size_t Threads = 2, Phases = 3; // first alone, both, second alone
  size_t Repetitions = std::max<size_t>(
      size_t(Seconds * 1e6 / PhaseUs / double(Phases * Sides.size())), 3);
  std::vector<std::vector<double>> Scaling(Sides.size()), Rate(Sides.size());
  std::vector<size_t> Chunk(Sides.size());
  std::vector<char> Disturbed(Repetitions);
  std::atomic<size_t> Wrong = 0;
  double Rates[Phases][Threads], Delays[Phases][Threads];
  Barrier Together(Threads);
  onThreads(Threads, [&](size_t Me) {
    std::vector<std::unique_ptr<Asker>> Askers;
    for (size_t S = 0; S < Sides.size(); ++S) {
      Askers.push_back(Sides[S].Make());
      if (Me == 0)
        Chunk[S] = countFor(*Askers[S], I, 100);
    }
    for (size_t Repetition = 0; Repetition < Repetitions; ++Repetition)
      for (size_t S = 0; S < Sides.size(); ++S) {
        for (size_t Phase = 0; Phase < Phases; ++Phase) {
          Together.wait();
          Rates[Phase][Me] = Delays[Phase][Me] = 0;
          if (Phase != 1 && Me != Phase / 2)
            continue;
          size_t Turn = Me, Missed = 0;
          double Delayed = delayedUs();
          auto Begin = Clock::now();
          while (microseconds(Begin) < PhaseUs)
            for (size_t K = 0; K < Chunk[S]; ++K, ++Turn) {
              Span<const float> Y = Askers[S]->ask(I.features(Turn));
              Missed += Sides[S].Checked && !I.isAnswer(Turn, Y);
            }
          Delays[Phase][Me] = delayedUs() - Delayed;
          double Us = microseconds(Begin) - Delays[Phase][Me];
          Rates[Phase][Me] = double(Turn - Me) / Us * 1e6;
          Wrong += Missed;
        }
        Together.wait();
        if (Me == 0) {
          double Alone = (Rates[0][0] + Rates[2][1]) / 2;
          double Both = Rates[1][0] + Rates[1][1];
          Scaling[S].push_back(Both / Alone);
          Rate[S].push_back(Alone);
          for (const auto &OfPhase : Delays)
            for (double Us : OfPhase)
              Disturbed[Repetition] |= Us > 0.03 * PhaseUs;
        }
      }
  });
  // Threads that do not run at a time do not hinder each other, so repetitions
  // without other programs tell most, if there are some.
  auto Undisturbed = size_t(std::count(Disturbed.begin(), Disturbed.end(), 0));
  auto Typical = [&](const auto &At) {
    std::vector<double> Values;
    for (size_t K = 0; K < Repetitions; ++K)
      if (!Disturbed[K] || Undisturbed < 5)
        Values.push_back(At(K));
    return median(Values);
  };
  std::printf("{\"wrong\": %zu, \"undisturbed\": %.3f", Wrong.load(),
              double(Undisturbed) / double(Repetitions));
  for (size_t S = 0; S < Sides.size(); ++S)
    std::printf(
        ", \"%s\": {\"per_s\": %.1f, \"scaling\": %.4f, \"of_spin\": %.4f}",
        Sides[S].Name.c_str(), Typical([&](size_t K) { return Rate[S][K]; }),
        Typical([&](size_t K) { return Scaling[S][K]; }),
        Typical([&](size_t K) { return Scaling[S][K] / Scaling.back()[K]; }));
  std::printf("}\n");
  return 0;
}

/// The first opening of a process, with whatever it loads, and later ones.
int measureOpening(const std::string &Way, const InferModel &I) {
  auto Open = [&] {
    Side S = openSide("", Way, I);
    std::unique_ptr<Asker> A = S.Make();
    return std::pair(std::move(S), std::move(A)); // destroyed in reverse
  };
  auto Begin = Clock::now();
  auto First = Open();
  double Cold = microseconds(Begin);
  std::vector<double> Warm;
  for (int K = 0; K < 30; ++K) {
    Begin = Clock::now();
    auto Another = Open();
    Warm.push_back(microseconds(Begin));
  }
  std::printf("{\"cold_us\": %.1f, \"warm_us\": %.1f}\n", Cold, median(Warm));
  return 0;
}

/// Opens, asks once; fails as a measurement would.
int check(const std::string &Way, const InferModel &I) {
  bool Right = I.isAnswer(0, openSide("", Way, I).Make()->ask(I.features(0)));
  std::printf("{\"right\": %s}\n", Right ? "true" : "false");
  return 0;
}

bool mapsOnnxRuntime() {
  std::FILE *F = std::fopen("/proc/self/maps", "r");
  char Line[4096];
  bool Found = false;
  while (F && std::fgets(Line, sizeof(Line), F))
    Found |= std::strstr(Line, "onnxruntime") != nullptr;
  if (F)
    std::fclose(F);
  return Found;
}

int showMaps(const std::string &Runner, const InferModel &I) {
  auto Show = [](bool Maps) { return Maps ? "true" : "false"; };
  const char *Start = Show(mapsOnnxRuntime());
  Model Other = openModel("constant:1", I);
  RunnerAsker(Other).ask(I.features(0));
  const char *Constant = Show(mapsOnnxRuntime());
  Model Onnx = openModel(Runner, I);
  RunnerAsker(Onnx).ask(I.features(0));
  std::printf("{\"start\": %s, \"constant\": %s, \"onnx\": %s}\n", Start,
              Constant, Show(mapsOnnxRuntime()));
  return 0;
}

} // namespace

int main(int Count, char **Arguments) {
  std::vector<std::string> A(Arguments + 1, Arguments + Count);
  const std::string Mode = A.empty() ? "" : A[0];
  if (Mode == "open" && A.size() == 3)
    return measureOpening(A[2], InferModel(A[1]));
  if (Mode == "check" && A.size() == 3)
    return check(A[2], InferModel(A[1]));
  if (Mode == "maps" && A.size() == 3)
    return showMaps(A[2], InferModel(A[1]));
  const size_t SidesAt = Mode == "latency" ? 4 : 3;
  if ((Mode == "latency" || Mode == "scaling") && A.size() > SidesAt) {
    InferModel I(A[1]);
    std::vector<Side> Sides;
    for (size_t K = SidesAt; K < A.size(); ++K) {
      size_t Equals = A[K].find('=');
      Sides.push_back(
          openSide(A[K].substr(0, Equals), A[K].substr(Equals + 1), I));
    }
    if (Mode == "latency")
      return measureLatency(Sides, I, std::stoul(A[2]), std::stod(A[3]));
    Sides.push_back(
        {"spin", [] { return std::make_unique<SpinAsker>(); }, false});
    return measureScaling(Sides, I, std::stod(A[2]));
  }
  std::fprintf(stderr,
               "usage: InferHost latency DIR THREADS SECONDS NAME=WAY...\n"
               "       InferHost scaling DIR SECONDS NAME=WAY...\n"
               "       InferHost check DIR WAY\n"
               "       InferHost open DIR WAY\n"
               "       InferHost maps DIR RUNNER\n");
  return 2;
}
