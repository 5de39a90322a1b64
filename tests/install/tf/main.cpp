//===- main.cpp - A program that asks a model of TensorFlow's -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <cstdio>

using namespace cbridge;

int main(int, char **Arguments) {
  Expected<Model> M =
      Model::open(Arguments[1], {{TensorSpec::create<int64_t>("callee_users"),
                                  TensorSpec::create<int32_t>("depth"),
                                  TensorSpec::create<float>("embedding", {8})},
                                 TensorSpec::create<float>("score")});
  if (!M)
    return std::fprintf(stderr, "%s\n", M.status().toString().c_str()), 1;
  Expected<float> Score = M->runner().evaluate<float>();
  if (!Score)
    return std::fprintf(stderr, "%s\n", Score.status().toString().c_str()), 1;
  std::printf("score of nothing: %g\n", double(*Score));
  return 0;
}
