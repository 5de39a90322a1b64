//===- SizeHost.cpp - What a model adds to a compiler ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SizeHost RUNNER: the least that asks the model `mlp`; prints by how much the
// process grew. Built twice, without a model and with it (SizeHostMlp).
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <cstdio>

using namespace cbridge;

namespace {

struct Memory {
  long Resident = 0;
  long Anonymous = 0; // of that, what is no file's
};

/// Not the VmRSS of /proc/self/status, which the kernel counts in batches of
/// many pages.
Memory memoryKb() {
  std::FILE *F = std::fopen("/proc/self/smaps_rollup", "r");
  char Line[256];
  Memory M;
  while (F && std::fgets(Line, sizeof(Line), F))
    if (std::sscanf(Line, "Rss: %ld", &M.Resident) != 1)
      std::sscanf(Line, "Anonymous: %ld", &M.Anonymous);
  if (F)
    std::fclose(F);
  return M;
}

int fail(const Status &Why) {
  std::fprintf(stderr, "%s\n", Why.toString().c_str());
  return 1;
}

} // namespace

int main(int Count, char **Arguments) {
  if (Count != 2) {
    std::fprintf(stderr, "usage: SizeHost RUNNER\n");
    return 2;
  }
  memoryKb(); // the first look loads what looking needs
  Memory Before = memoryKb();
  Expected<Model> M = Model::open(
      Arguments[1], Signature({TensorSpec::create<float>("x", {1, 64})},
                              TensorSpec::create<float>("y", {1, 8})));
  if (!M)
    return fail(M.status());
  MLModelRunner R = M->runner();
  for (float &X : R.getTensor<float>(0))
    X = 1;
  Expected<Span<const float>> Y = R.evaluate<Span<const float>>();
  if (!Y)
    return fail(Y.status());
  Memory First = memoryKb();
  for (int I = 0; I < 1'000; ++I)
    if (!R.evaluate<Span<const float>>())
      return 1;
  Memory Later = memoryKb();
  std::printf("{\"start_kb\": %ld, \"growth_kb\": %ld, \"anonymous_kb\": %ld, "
              "\"growth_1000_kb\": %ld, \"y\": %.9g}\n",
              Before.Resident, First.Resident - Before.Resident,
              First.Anonymous - Before.Anonymous,
              Later.Resident - Before.Resident, double((*Y)[0]));
  return 0;
}
