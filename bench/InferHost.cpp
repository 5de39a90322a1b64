//===- InferHost.cpp - Models evaluated in the compiler's process ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DIR is a model's folder (see _infer_models.py), BARE an ONNX file for the
// bare C API or `-`. Each prints one JSON object:
//   InferHost latency RUNNER BARE DIR THREADS SECONDS   time per evaluation
//   InferHost scaling RUNNER BARE DIR SECONDS   two threads compared with one
//   InferHost open RUNNER DIR, InferHost open-bare BARE DIR   time to open
//   InferHost maps RUNNER DIR   whether ONNX Runtime gets loaded
//
//===----------------------------------------------------------------------===//
#include "InferAsker.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
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

/// One of those that are measured in turn.
struct Side {
  const char *Name;
  std::function<std::unique_ptr<Asker>()> Make; // on the thread that asks
  bool Checked = true;
};

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

/// Evaluations that fill so many microseconds.
size_t countFor(Asker &A, const InferModel &I, double Us) {
  for (size_t K = 0; K < 20; ++K)
    A.ask(I.features(K));
  auto Begin = Clock::now();
  for (size_t K = 0; K < 20; ++K)
    A.ask(I.features(K));
  return std::max<size_t>(size_t(Us * 20 / microseconds(Begin)), 1);
}

int measureLatency(const std::vector<Side> &Sides, const InferModel &I,
                   size_t Threads, double Seconds) {
  // Short, so that what disturbs one side disturbs the other; but threads take
  // a while to start together.
  const double BlockUs = Threads > 1 ? 4'000 : 1'000;
  struct Measured {
    std::vector<double> Us;
    size_t Wrong = 0;
  };
  std::vector<std::vector<Measured>> All(Threads,
                                         std::vector<Measured>(Sides.size()));
  const double Clocks = clockCost();
  size_t Rounds = std::max<size_t>(
      size_t(Seconds * 1e6 / BlockUs / double(Sides.size())), 3);
  std::atomic<size_t> End = Rounds; // earlier on a machine that others use
  size_t Block = 0;
  Barrier Together(Threads);
  onThreads(Threads, [&](size_t Me) {
    std::vector<std::unique_ptr<Asker>> Askers;
    for (const Side &S : Sides)
      Askers.push_back(S.Make());
    if (Me == 0)
      Block = countFor(*Askers[0], I, BlockUs);
    Together.wait();
    for (std::unique_ptr<Asker> &A : Askers)
      for (size_t K = 0; K < Block; ++K)
        A->ask(I.features(K));
    for (Measured &M : All[Me])
      M.Us.reserve(Rounds * Block);
    size_t Turn = Me; // threads ask different questions at a time
    auto Start = Clock::now();
    for (size_t Round = 0; Round < End; ++Round) {
      for (size_t J = 0; J < Sides.size(); ++J) {
        size_t S = (Round + J) % Sides.size(); // neither is always the first
        Measured &M = All[Me][S];
        Together.wait();
        for (size_t K = 0; K < Block; ++K, ++Turn) {
          auto Begin = Clock::now();
          Span<const float> Y = Askers[S]->ask(I.features(Turn));
          M.Us.push_back(microseconds(Begin) - Clocks);
          M.Wrong += !I.isAnswer(Turn, Y);
        }
      }
      // The others may be in this round or on their way to the next.
      if (Me == 0 && End == Rounds && microseconds(Start) > 1.5e6 * Seconds)
        End = std::min(Round + 2, Rounds);
    }
  });
  std::printf("{");
  for (size_t S = 0; S < Sides.size(); ++S) {
    Measured Sum;
    for (std::vector<Measured> &Mine : All) {
      Sum.Us.insert(Sum.Us.end(), Mine[S].Us.begin(), Mine[S].Us.end());
      Sum.Wrong += Mine[S].Wrong;
    }
    std::printf("%s\"%s\": {\"median_us\": %.4f, \"p99_us\": %.4f, "
                "\"wrong\": %zu, \"evaluations\": %zu}",
                S ? ", " : "", Sides[S].Name, median(Sum.Us),
                quantile(Sum.Us, 0.99), Sum.Wrong, Sum.Us.size());
  }
  std::printf("}\n");
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
        Sides[S].Name, Typical([&](size_t K) { return Rate[S][K]; }),
        Typical([&](size_t K) { return Scaling[S][K]; }),
        Typical([&](size_t K) { return Scaling[S][K] / Scaling.back()[K]; }));
  std::printf("}\n");
  return 0;
}

/// The first opening of a process, with whatever it loads, and later ones.
template <typename Opener> int measureOpening(const Opener &Open) {
  auto Begin = Clock::now();
  auto First = Open();
  double Cold = microseconds(Begin);
  std::vector<double> Warm;
  for (int I = 0; I < 30; ++I) {
    Begin = Clock::now();
    auto Another = Open();
    Warm.push_back(microseconds(Begin));
  }
  std::printf("{\"cold_us\": %.1f, \"warm_us\": %.1f}\n", Cold, median(Warm));
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
  if (Mode == "open" && A.size() == 3) {
    InferModel I(A[2]);
    return measureOpening([&] {
      Model M = openModel(A[1], I);
      return std::make_unique<RunnerAsker>(M);
    });
  }
  if (Mode == "maps" && A.size() == 3)
    return showMaps(A[1], InferModel(A[2]));
#ifdef CBRIDGE_BENCH_ORT
  if (Mode == "open-bare" && A.size() == 3) {
    InferModel I(A[2]);
    return measureOpening([&] {
      auto Session = std::make_unique<BareSession>(A[1]);
      auto Asker = std::make_unique<BareAsker>(*Session, I);
      return std::pair(std::move(Session), std::move(Asker));
    });
  }
#endif
  if ((Mode == "latency" && A.size() == 6) ||
      (Mode == "scaling" && A.size() == 5)) {
    InferModel I(A[3]);
    std::vector<Side> Sides;
    std::optional<Model> M;
    if (A[1] != "-") {
      M = openModel(A[1], I);
      Sides.push_back(
          {"ours", [&] { return std::make_unique<RunnerAsker>(*M); }});
    }
#ifdef CBRIDGE_BENCH_ORT
    std::unique_ptr<BareSession> Bare;
    if (A[2] != "-") {
      Bare = std::make_unique<BareSession>(A[2]);
      Sides.push_back(
          {"bare", [&] { return std::make_unique<BareAsker>(*Bare, I); }});
    }
#endif
    if (Mode == "latency")
      return measureLatency(Sides, I, std::stoul(A[4]), std::stod(A[5]));
    Sides.push_back(
        {"spin", [] { return std::make_unique<SpinAsker>(); }, false});
    return measureScaling(Sides, I, std::stod(A[4]));
  }
  std::fprintf(stderr,
               "usage: InferHost latency RUNNER BARE DIR THREADS SECONDS\n"
               "       InferHost scaling RUNNER BARE DIR SECONDS\n"
               "       InferHost open RUNNER DIR\n"
               "       InferHost open-bare BARE DIR\n"
               "       InferHost maps RUNNER DIR\n");
  return 2;
}
