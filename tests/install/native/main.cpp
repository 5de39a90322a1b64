//===- main.cpp - A program that has compiled models in it ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Affine.h"

#include <cbridge/MLModelRunner.h>

#include <cstdio>

using namespace cbridge;

static bool decides(const std::string &Runner) {
  Expected<Model> M = Model::open(Runner + "on_error=fail",
                                  {{TensorSpec::create<float>("x", {4})},
                                   TensorSpec::create<float>("y", {3})});
  if (!M)
    return std::fprintf(stderr, "%s\n", M.status().toString().c_str()), false;
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"x", std::vector<float>{1, 2, 3, 4}});
  auto Y = R.evaluate<std::vector<float>>();
  if (!Y)
    return std::fprintf(stderr, "%s\n", Y.status().toString().c_str()), false;
  std::printf("%s: %g %g %g\n", Runner.c_str(), double((*Y)[0]),
              double((*Y)[1]), double((*Y)[2]));
  return *Y == std::vector<float>{40, 22, -37};
}

int main(int, char **Arguments) {
  // Without this library, the model's own struct.
  static cbridge_models::Affine Plain;
  for (int I = 0; I < 4; ++I)
    Plain.in.x[I] = float(I + 1);
  if (Plain.evaluate() || Plain.out.y[0] != 40)
    return 1;
  return decides("native:Affine?") &&
                 decides("native:Other?weights=" WEIGHTS "&") &&
                 decides("native:" + std::string(Arguments[1]) + "?")
             ? 0
             : 1;
}
