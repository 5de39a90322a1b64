//===- EngineProcess.cpp - A process that uses an engine ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// conformance_engine LIBRARY [RUNNER]: decides without a model, and then with
// the model "affine" of RUNNER, well and badly. Prints only what goes wrong.
// Unless RUNNER records, it may not write to any file.
//
//===----------------------------------------------------------------------===//
#include "NoWrites.h"
#include "ThisProcess.h"

#include <cbridge/MLModelRunner.h>

#include <cstdio>

using namespace cbridge;
using namespace cbridge::conformance;

static int fail(const std::string &Why) {
  std::fprintf(stderr, "%s\n", Why.c_str());
  return 1;
}

int main(int Count, char **Arguments) {
  const std::string Library = Count > 1 ? Arguments[1] : "";
  const Signature Pass({TensorSpec::create<float>("x", {Dynamic})},
                       TensorSpec::create<float>("y", {3}));
  if (Library.empty())
    return fail("usage: conformance_engine LIBRARY [RUNNER]");
  for (const char *Other : {"constant:2", "heuristic:", "replay:nowhere"}) {
    Expected<Model> M = Model::open(Other, Pass);
    if (!M)
      return fail(M.status().toString());
    (void)M->runner().evaluateOr<float>([] { return 1.0f; });
  }
  if (mappings(Library))
    return fail(Library + " is there before it is asked for");
  if (Count < 3)
    return 0;
  const std::string Target = Arguments[2];
  if (Target.find("record=") == std::string::npos && !forbidWrites())
    return fail("this system does not let a process give up writing");

  Expected<Model> M = Model::open(Target, Pass);
  if (!M || !M->whyNot().ok())
    return fail(M ? M->whyNot().toString() : M.status().toString());
  if (!mappings(Library))
    return fail("no " + Library + " is there");
  {
    MLModelRunner R = M->runner();
    for (int Round = 0; Round < 3; ++Round) {
      R.populateFeatures(std::pair{"x", std::vector<float>{1, 2, 3, 4}});
      auto Y = R.evaluate<std::vector<float>>();
      if (!Y)
        return fail(Y.status().toString());
      if (*Y != std::vector<float>{40, 22, -37})
        return fail("a wrong answer");
      R.populateFeatures(std::pair{"x", std::vector<float>(5)});
      if (R.evaluate())
        return fail("five elements are taken for four");
    }
  }
  std::string Scheme = Target.substr(0, Target.find(':') + 1);
  for (const std::string &Bad : {Target, Scheme + "/nowhere/at.all"}) {
    Expected<Model> None = Model::open(Bad, {{}, Pass.outputs()});
    if (!None || None->whyNot().ok())
      return fail(Bad + " should abstain");
    (void)None->runner().evaluateOr<float>([] { return 1.0f; });
  }
  return 0;
}
