//===- WorkerHost.cpp - A compiler that does nothing but ask --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// WorkerHost RUNNER NUMBER DECISIONS: asks with 64 floats, of which the first
// is NUMBER, and wants 8 * NUMBER + (0 to 7) back. Waits for a line on standard
// input before it begins, and prints how many answers were wrong.
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <cstdio>
#include <cstdlib>
#include <random>

using namespace cbridge;

int main(int Count, char **Arguments) {
  if (Count != 4) {
    std::fprintf(stderr, "usage: WorkerHost RUNNER NUMBER DECISIONS\n");
    return 2;
  }
  int64_t Number = std::atoll(Arguments[2]),
          Decisions = std::atoll(Arguments[3]);
  Signature Sig({TensorSpec::create<float>("x", {64})},
                TensorSpec::create<int64_t>("action"));
  Expected<Model> M = Model::open(Arguments[1], Sig);
  if (!M || !M->whyNot().ok()) {
    std::fprintf(stderr, "%s\n",
                 (M ? M->whyNot() : M.status()).toString().c_str());
    return 1;
  }
  MLModelRunner Runner = M->runner();
  Span<float> X = Runner.getTensor<float>(0);
  std::mt19937 Random{unsigned(Number)};
  std::normal_distribution<float> Normal;
  for (float &Each : X)
    Each = Normal(Random);
  X[0] = float(Number);
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF)
    return 1;
  int64_t Wrong = 0;
  for (int64_t I = 0; I < Decisions; ++I) {
    X[1 + size_t(I) % 63] += 0.25F;
    Expected<int64_t> Action = Runner.evaluate<int64_t>();
    if (!Action) {
      std::fprintf(stderr, "%s\n", Action.status().toString().c_str());
      return 1;
    }
    Wrong += *Action / 8 != Number;
  }
  std::printf("%lld\n", static_cast<long long>(Wrong));
  return 0;
}
