//===- Demo.cpp - A compiler that asks a model ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// demo [--peer] [FOLDER]: "compiles" the loops in FOLDER/*.loops (those of this
// folder). For each it asks a model for an unroll factor: unroll_policy.onnx,
// which the build has compiled into this program. With --peer, the same model
// in NumPy, in a Python peer that the runner starts itself; half-way the demo
// kills that peer, and goes on. demo --sample N: prints N random loops and
// their costs, to fit a policy to.
//
//===----------------------------------------------------------------------===//
#include "Loops.h"

#include <cbridge/MLModelRunner.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include <csignal>
#include <unistd.h>

using namespace cbridge;
using Clock = std::chrono::steady_clock;

/// The peer is our only child.
static void killPeer() {
  std::ifstream Children("/proc/self/task/" + std::to_string(::getpid()) +
                         "/children");
  for (int Child = 0; Children >> Child;) {
    std::printf("--- killing the peer, process %d ---\n", Child);
    ::kill(Child, SIGKILL);
  }
}

static double median(std::vector<double> Values) {
  std::sort(Values.begin(), Values.end());
  return Values.empty() ? 0 : Values[Values.size() / 2];
}

static int compile(const std::vector<demo::Loop> &Loops,
                   const std::string &RunnerString, bool KillPeer) {
  // cbridge: begin
  Signature Sig({TensorSpec::create<float>("loop", {6})},
                TensorSpec::create<int64_t>("factor"));
  Expected<Model> M = Model::open(RunnerString, Sig, [](const Status &Why) {
    std::printf("--- no model any more: %s ---\n", Why.toString().c_str());
  });
  if (!M) {
    std::fprintf(stderr, "%s\n", M.status().message().c_str());
    return 1;
  }
  MLModelRunner Runner = M->runner();
  // cbridge: end
  std::printf("--- asking %s ---\n", RunnerString.c_str());

  std::vector<double> ByModel, ByHeuristic;
  double Decided = 0, Baseline = 0;
  std::printf("%-15s %5s %5s  %6s  %-9s %9s %9s %7s\n", "loop", "trip", "body",
              "unroll", "by", "latency", "cycles", "saved");
  for (size_t I = 0; I < Loops.size(); ++I) {
    const demo::Loop &L = Loops[I];
    if (KillPeer && I == Loops.size() / 2)
      killPeer();
    // Legal factors do not exceed the trip count; the model only chooses.
    std::array<bool, demo::Factors.size()> Legal;
    for (size_t F = 0; F < Legal.size(); ++F)
      Legal[F] = float(demo::Factors[F]) <= L.trip();

    auto Begin = Clock::now();
    // cbridge: begin
    Runner.switchContext(L.Name);
    Runner.setMask(Legal);
    Runner.populateFeatures(std::pair{"loop", L.Features});
    auto Choice =
        Runner.evaluateOr<int64_t>([&] { return demo::heuristic(L); });
    // cbridge: end
    double Us =
        std::chrono::duration<double, std::micro>(Clock::now() - Begin).count();

    bool FromModel = Runner.lastError().ok();
    (FromModel ? ByModel : ByHeuristic).push_back(Us);
    double Cost = demo::cycles(L, demo::Factors[size_t(Choice)]);
    double Usual = demo::cycles(L, demo::Factors[size_t(demo::heuristic(L))]);
    Decided += FromModel ? Cost : 0;
    Baseline += FromModel ? Usual : 0;
    std::printf("%-15s %5.0f %5.0f  %6d  %-9s %6.2f us %9.0f %+6.1f%%\n",
                L.Name.c_str(), double(L.trip()), double(L.body()),
                demo::Factors[size_t(Choice)],
                FromModel ? "model" : "heuristic", Us, Cost,
                100 * (1 - Cost / Usual));
  }
  std::printf("\n%zu decisions by the model, median %.2f us: %.1f%% fewer "
              "cycles than the heuristic\n",
              ByModel.size(), median(ByModel),
              100 * (1 - Decided / std::max(Baseline, 1.0)));
  if (!ByHeuristic.empty())
    std::printf("%zu by the heuristic without one, median %.1f us; the first, "
                "which noticed, took %.1f ms\n",
                ByHeuristic.size(), median(ByHeuristic), ByHeuristic[0] / 1e3);
  return ByModel.empty() || ByHeuristic.empty() == KillPeer;
}

static int sample(int Count) {
  std::mt19937 Random(7);
  auto Draw = [&](double Low, double High) { // more small ones than large ones
    std::uniform_real_distribution<double> Log(std::log(Low), std::log(High));
    return std::floor(float(std::exp(Log(Random))));
  };
  for (int I = 0; I < Count; ++I) {
    auto Body = float(Draw(2, 60));
    demo::Loop L{"",
                 {float(Draw(4, 8192)), Body,
                  std::min(float(Draw(1, 10)), Body), float(Draw(1, 9) - 1),
                  float(Draw(1, 8) - 1), float(Random() % 2)}};
    for (float F : L.Features)
      std::printf("%g ", double(F));
    for (int Factor : demo::Factors)
      std::printf("%g ", demo::cycles(L, Factor));
    std::printf("\n");
  }
  return 0;
}

int main(int Count, char **Arguments) {
  if (Count == 3 && std::strcmp(Arguments[1], "--sample") == 0)
    return sample(std::atoi(Arguments[2]));
  bool Peer = Count > 1 && std::strcmp(Arguments[1], "--peer") == 0;
  std::string Folder = CBRIDGE_EXAMPLES_DIR "/loops";
  if (Count > 1 + int(Peer))
    Folder = Arguments[1 + int(Peer)];
  std::vector<std::string> Files;
  std::error_code Error;
  for (const auto &Entry : std::filesystem::directory_iterator(Folder, Error))
    if (Entry.path().extension() == ".loops")
      Files.push_back(Entry.path().string());
  std::sort(Files.begin(), Files.end());
  std::vector<demo::Loop> Loops;
  for (const std::string &File : Files)
    for (demo::Loop &L : demo::readLoops(File))
      Loops.push_back(std::move(L));
  if (Loops.empty()) {
    std::fprintf(stderr, "no loops in %s/*.loops\n", Folder.c_str());
    return 1;
  }
  std::string Runner = "native:UnrollPolicy";
  if (Peer)
    Runner = "pipe:?spawn=python3 " CBRIDGE_EXAMPLES_DIR "/unroll_peer.py";
  else if (const char *Chosen = std::getenv("CBRIDGE_UNROLL_MODEL"))
    Runner = Chosen;
  return compile(Loops, Runner, Peer);
}
