//===- Compiler.cpp - Asks by inline.proto --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// own_proto_compiler "grpc:?spawn=python3 server.py {}", with the folder of
// the generated Python modules in PYTHONPATH.
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <cstdio>

using namespace cbridge;

int main(int Count, char **Arguments) {
  // Names are those of the fields; a name that only one message has needs no
  // path.
  Signature Sig({TensorSpec::create<int64_t>("callee.instructions"),
                 TensorSpec::create<int64_t>("callee.users"),
                 TensorSpec::create<bool>("is_constant", {Dynamic}),
                 TensorSpec::create<float>("embedding", {Dynamic, 2}),
                 TensorSpec::create<int32_t>("loop_depth")},
                TensorSpec::create<bool>("should_inline"));
  std::string Text = Count > 1 ? Arguments[1] : "grpc:127.0.0.1:50051";
  Text += Text.find('?') == Text.npos ? "?" : "&";
  Text += "proto=" + RunnerString::escape(INLINE_DESCRIPTOR);
  auto Model = Model::open(Text, Sig, [](const Status &Why) {
    std::printf("%s\n", Why.toString().c_str());
  });
  if (!Model)
    return std::printf("%s\n", Model.status().message().c_str()), 1;
  auto Runner = Model->runner();
  for (int64_t Size : {10, 45, 200}) {
    Runner.switchContext("main");
    Runner.populateFeatures(
        std::pair{"callee.instructions", Size}, std::pair{"callee.users", 3},
        std::pair{"is_constant", std::vector<bool>{true, false}},
        std::pair{"embedding", std::vector<std::vector<float>>{{1, 0}, {0, 1}}},
        std::pair{"loop_depth", 2});
    bool Inline = Runner.evaluateOr<bool>([] { return false; });
    std::printf("%3d instructions: %s, says the %s\n", int(Size),
                Inline ? "inline" : "call",
                Runner.lastError().ok() ? "model" : "heuristic");
  }
}
