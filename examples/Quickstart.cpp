//===- Quickstart.cpp - The README's example ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <cstdio>

int main() {
  using namespace cbridge;
  Signature Sig({TensorSpec::create<int64_t>("trip_count"),
                 TensorSpec::create<float>("embedding", {Dynamic})},
                TensorSpec::create<int64_t>("unroll"));
  auto Model = Model::open("constant:4", Sig); // or pipe:/tmp/x/base
  if (!Model)
    return std::printf("%s\n", Model.status().message().c_str()), 1;
  auto Runner = Model->runner(); // one per thread
  Runner.populateFeatures(std::pair{"trip_count", 128},
                          std::pair{"embedding", std::vector<float>(64)});
  auto Unroll = Runner.evaluateOr<int64_t>([] { return 1; }); // never fails
  std::printf("unroll by %d\n", int(Unroll));
}
