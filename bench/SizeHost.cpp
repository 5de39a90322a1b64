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

/// Resident memory. Not the VmRSS of /proc/self/status, which the kernel counts
/// in batches of many pages.
long residentKb() {
  std::FILE *F = std::fopen("/proc/self/smaps_rollup", "r");
  char Line[256];
  long Kb = 0;
  while (F && std::fgets(Line, sizeof(Line), F))
    if (std::sscanf(Line, "Rss: %ld", &Kb) == 1)
      break;
  if (F)
    std::fclose(F);
  return Kb;
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
  residentKb(); // the first look loads what looking needs
  long Before = residentKb();
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
  long First = residentKb();
  for (int I = 0; I < 1'000; ++I)
    if (!R.evaluate<Span<const float>>())
      return 1;
  std::printf("{\"start_kb\": %ld, \"growth_kb\": %ld, "
              "\"growth_1000_kb\": %ld, \"y\": %.9g}\n",
              Before, First - Before, residentKb() - Before, double((*Y)[0]));
  return 0;
}
