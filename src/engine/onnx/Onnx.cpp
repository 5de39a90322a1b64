//===- Onnx.cpp - onnx: ---------------------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/Onnx.h"

#include "engine/onnx/OnnxEngine.h"

#include <charconv>

namespace cbridge {

namespace {

Expected<onnx::OnnxOptions> readOptions(const RunnerString &R) {
  onnx::OnnxOptions Options;
  if (R.target().empty())
    return R.errorAtTarget("expected a file: onnx:FILE.onnx");
  if (R.has("threads")) {
    std::string Text = R.option("threads");
    const char *End = Text.data() + Text.size();
    auto [Rest, Error] = std::from_chars(Text.data(), End, Options.Threads);
    if (Error != std::errc() || Rest != End || Options.Threads < 1 ||
        Options.Threads > 1024)
      return R.errorAt("threads", "expected a number from 1 to 1024");
  }
  std::string Given = R.option("custom_ops");
  for (std::string_view Rest = Given; !Rest.empty();) {
    size_t End = std::min(Rest.find(':'), Rest.size());
    if (End == 0)
      return R.errorAt("custom_ops", "expected files, separated by colons");
    Options.CustomOps.emplace_back(Rest.substr(0, End));
    Rest.remove_prefix(std::min(End + 1, Rest.size()));
  }
  if (R.has("custom_ops") && Options.CustomOps.empty())
    return R.errorAt("custom_ops", "expected files, separated by colons");
  return Options;
}

Expected<std::unique_ptr<Engine>>
makeRunner(const std::shared_ptr<const onnx::OnnxModel> &Model) {
  auto Made = std::make_unique<onnx::OnnxEngine>(Model);
  if (Status S = Made->status(); !S)
    return S;
  if (Status S = Made->prepare(); !S)
    return S;
  return std::unique_ptr<Engine>(std::move(Made));
}

Expected<EngineSource> openOnnx(const RunnerString &R, const Signature &Sig) {
  Expected<onnx::OnnxOptions> Options = readOptions(R);
  if (!Options)
    return Options.status();
  auto Model = onnx::OnnxModel::open(R.target(), Sig, *Options);
  if (!Model)
    return Model.status();
  return EngineSource([Model = *Model] { return makeRunner(Model); });
}

Expected<Signature> describeOnnx(const RunnerString &R) {
  Expected<onnx::OnnxOptions> Options = readOptions(R);
  if (!Options)
    return Options.status();
  return onnx::OnnxModel::signatureOf(R.target(), *Options);
}

} // namespace

Scheme onnxScheme() {
  Scheme Made{"onnx",
              "onnx:FILE.onnx asks ONNX Runtime in this process",
              {"threads", "custom_ops"},
              openOnnx};
  Made.Describe = describeOnnx;
  return Made;
}

} // namespace cbridge
