//===- RttHost.cpp - The compiler's side of the round-trip benchmark ------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RttHost measure RUNNER FLOOR REPETITIONS [SMALL]: asks RUNNER and, in turn, a
// floor (see Floor.h), and prints one JSON object; SMALL is the runner for
// small trips, if it is another. `measure-padded`: RUNNER takes vectors of the
// largest size only, so zeros follow. RttHost memory RUNNER MESSAGES PID:
// growth of both processes.
//
//===----------------------------------------------------------------------===//
#include "AllocationCount.h"
#include "Dot.h"
#include "Floor.h"

#include <cbridge/MLModelRunner.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

using namespace cbridge;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t Smallest = 500, Largest = 50'000, Step = 500, Small = 64;
constexpr size_t SmallTrips = 2'000;

/// Asks for one vector's dot product.
using Ask = std::function<float(Span<const float>)>;

struct Measured {
  std::vector<double> TotalMs, MedianUs, P99Us;
  size_t Wrong = 0;
  size_t StudyAllocations = 0; // of the latest study
};

std::vector<float> randomVector(size_t Size) {
  static std::mt19937 Random(42);
  std::normal_distribution<float> Normal;
  std::vector<float> Values(Size);
  for (float &V : Values)
    V = Normal(Random);
  return Values;
}

double microseconds(Clock::time_point From) {
  return std::chrono::duration<double, std::micro>(Clock::now() - From).count();
}

double quantile(std::vector<double> Values, double Q) {
  if (Values.empty())
    return 0;
  std::sort(Values.begin(), Values.end());
  return Values[size_t(Q * double(Values.size() - 1))];
}

/// The published study: vectors of 500 to 50,000 elements, total time.
void study(const Ask &Trip, Measured &M,
           const std::vector<std::vector<float>> &Vectors) {
  double Total = 0;
  size_t Before = bench::allocationCount();
  for (const std::vector<float> &X : Vectors) {
    auto Begin = Clock::now();
    float Y = Trip(X);
    Total += microseconds(Begin);
    M.Wrong += !bench::isDot(Y, X);
  }
  M.StudyAllocations = bench::allocationCount() - Before;
  M.TotalMs.push_back(Total / 1e3);
}

void smallTrips(const Ask &Trip, Measured &M, const std::vector<float> &X) {
  std::vector<double> Times;
  Times.reserve(SmallTrips);
  for (size_t I = 0; I < SmallTrips; ++I) {
    auto Begin = Clock::now();
    float Y = Trip(X);
    Times.push_back(microseconds(Begin));
    M.Wrong += !bench::isDot(Y, X);
  }
  M.MedianUs.push_back(quantile(Times, 0.5));
  M.P99Us.push_back(quantile(Times, 0.99));
}

MLModelRunner open(const std::string &Text, std::vector<int64_t> Shape) {
  Signature Sig({TensorSpec::create<float>("x", std::move(Shape))},
                TensorSpec::create<float>("y", {1}));
  Expected<Model> M = Model::open(Text, Sig);
  if (!M) {
    std::fprintf(stderr, "%s\n", M.status().toString().c_str());
    std::exit(1);
  }
  if (Status S = M->whyNot(); !S) {
    std::fprintf(stderr, "%s\n", S.toString().c_str());
    std::exit(1);
  }
  return M->runner();
}

float evaluate(MLModelRunner &R) {
  Expected<float> Y = R.evaluate<float>();
  if (!Y) {
    std::fprintf(stderr, "%s\n", Y.status().toString().c_str());
    std::exit(1);
  }
  return *Y;
}

float ask(MLModelRunner &R, Span<const float> X) {
  R.populateFeatures(std::pair{"x", X});
  return evaluate(R);
}

/// A model for vectors of one size: zeros follow where the last vector, of
/// LastSize, was longer.
float askPadded(MLModelRunner &R, Span<const float> X, size_t &LastSize) {
  Span<float> All = R.getTensor<float>(0);
  std::copy(X.begin(), X.end(), All.begin());
  if (X.size() < LastSize)
    std::fill(All.begin() + X.size(), All.begin() + LastSize, 0.0f);
  LastSize = X.size();
  return evaluate(R);
}

size_t residentKb(const std::string &Pid) {
  std::FILE *F = std::fopen(("/proc/" + Pid + "/status").c_str(), "r");
  char Line[256];
  size_t Kb = 0;
  while (F && std::fgets(Line, sizeof(Line), F))
    if (std::sscanf(Line, "VmRSS: %zu", &Kb) == 1)
      break;
  if (F)
    std::fclose(F);
  return Kb;
}

int measureMemory(const std::string &Text, size_t Messages,
                  const std::string &Peer) {
  MLModelRunner R = open(Text, {Dynamic});
  std::vector<float> X = randomVector(Largest);
  auto Send = [&](size_t Count) {
    for (size_t I = 0; I < Count; ++I)
      ask(R, X);
  };
  Send(Messages / 10 + 100);
  residentKb("self"); // the first look loads what looking needs
  size_t HostBefore = residentKb("self"), PeerBefore = residentKb(Peer);
  Send(Messages);
  std::printf("{\"messages\": %zu, \"host_growth_kb\": %ld, "
              "\"peer_growth_kb\": %ld}\n",
              Messages, long(residentKb("self")) - long(HostBefore),
              long(residentKb(Peer)) - long(PeerBefore));
  return 0;
}

/// In-process engines are too fast for a clock read per decision.
int measureInProcess(const std::string &Text) {
  constexpr size_t Batch = 100'000;
  Signature Sig({TensorSpec::create<int64_t>("x")},
                TensorSpec::create<int64_t>("y"));
  Expected<Model> M = Model::open(Text, Sig);
  if (!M) {
    std::fprintf(stderr, "%s\n", M.status().toString().c_str());
    return 1;
  }
  MLModelRunner R = M->runner();
  std::vector<double> Each;
  size_t Wrong = 0, Before = 0;
  for (int Round = 0; Round < 51; ++Round) {
    if (Round == 1)
      Before = bench::allocationCount();
    auto Begin = Clock::now();
    for (size_t I = 0; I < Batch; ++I) {
      R.getTensor<int64_t>(0)[0] = int64_t(I);
      Expected<int64_t> Y = R.evaluate<int64_t>();
      Wrong += !Y || *Y != 4;
    }
    double Us = microseconds(Begin) / Batch;
    if (Round)
      Each.push_back(Us);
    else
      Each.reserve(64);
  }
  double Allocations =
      double(bench::allocationCount() - Before) / (50.0 * Batch);
  std::printf("{\"total_ms\": %.6f, \"median_us\": %.5f, \"p99_us\": %.5f, "
              "\"wrong\": %zu, \"allocs_per_decision\": %.6f}\n",
              quantile(Each, 0.5) * 100 / 1e3, quantile(Each, 0.5),
              quantile(Each, 0.99), Wrong, Allocations);
  return 0;
}

int measure(const std::string &Text, const std::string &FloorSpec,
            int Repetitions, const std::string &SmallText, bool Padded) {
  std::unique_ptr<bench::Floor> Least =
      bench::Floor::open(FloorSpec, /*Host=*/true);
  Least->rest();
  Ask Bare = [&](Span<const float> V) { return Least->ask(V); };
  std::vector<std::vector<float>> Vectors;
  for (size_t Size = Smallest; Size <= Largest; Size += Step)
    Vectors.push_back(randomVector(Size));
  std::vector<float> X = randomVector(Small);

  Measured Ours, Floor;
  double Allocations = 0, FloorAllocations = 0;
  for (int Repetition = 0; Repetition <= Repetitions; ++Repetition) {
    // One pipe carries one session, so the two shapes follow each other.
    {
      MLModelRunner R = open(Text, {Padded ? int64_t(Largest) : Dynamic});
      size_t LastSize = Largest;
      Ask Trip = [&](Span<const float> V) {
        return Padded ? askPadded(R, V, LastSize) : ask(R, V);
      };
      Measured Warm;
      study(Trip, Warm, Vectors);
      study(Trip, Ours, Vectors);
      Least->resume();
      study(Bare, Warm, Vectors);
      study(Bare, Floor, Vectors);
      size_t Before = bench::allocationCount();
      smallTrips(Bare, Floor, X);
      FloorAllocations = std::floor(double(bench::allocationCount() - Before) /
                                    SmallTrips); // without its own few
      Least->rest();
    }
    MLModelRunner R = open(SmallText, {int64_t(Small)});
    Ask Trip = [&](Span<const float> V) { return ask(R, V); };
    smallTrips(Trip, Ours, X);
    size_t Before = bench::allocationCount();
    for (size_t I = 0; I < 1000; ++I)
      Trip(X);
    Allocations = double(bench::allocationCount() - Before) / 1000;
    if (Repetition == 0) // warm-up
      Ours = Floor = Measured();
  }
  std::printf("{\"total_ms\": %.4f, \"median_us\": %.3f, \"p99_us\": %.3f, "
              "\"floor_total_ms\": %.4f, \"floor_median_us\": %.3f, "
              "\"wrong\": %zu, \"allocs_per_decision\": %.4f, "
              "\"study_allocs\": %zu, \"floor_allocs_per_decision\": %.0f}\n",
              quantile(Ours.TotalMs, 0.5), quantile(Ours.MedianUs, 0.5),
              quantile(Ours.P99Us, 0.5), quantile(Floor.TotalMs, 0.5),
              quantile(Floor.MedianUs, 0.5), Ours.Wrong + Floor.Wrong,
              Allocations, Ours.StudyAllocations, FloorAllocations);
  return 0;
}

} // namespace

int main(int Count, char **Arguments) {
  std::vector<std::string> A(Arguments + 1, Arguments + Count);
  if (A.size() == 4 && A[0] == "memory")
    return measureMemory(A[1], std::stoul(A[2]), A[3]);
  if (A.size() == 2 && A[0] == "in-process")
    return measureInProcess(A[1]);
  if ((A.size() == 4 || A.size() == 5) && A[0] == "measure")
    return measure(A[1], A[2], std::stoi(A[3]), A.size() == 5 ? A[4] : A[1],
                   /*Padded=*/false);
  if (A.size() == 5 && A[0] == "measure-padded")
    return measure(A[1], A[2], std::stoi(A[3]), A[4], /*Padded=*/true);
  std::fprintf(stderr,
               "usage: RttHost measure RUNNER FLOOR REPETITIONS [SMALL]\n"
               "       RttHost measure-padded RUNNER FLOOR REPETITIONS SMALL\n"
               "       RttHost in-process RUNNER\n"
               "       RttHost memory RUNNER MESSAGES PEER-PID\n");
  return 2;
}
