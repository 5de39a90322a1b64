//===- NativeModels.cpp - native: -----------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "catalog/Modules.h"
#include "engine/native/Native.h"

namespace cbridge {

namespace {

/// A compiled model, and what messages call it.
struct Found {
  const cbridge_native_model *Model;
  std::string Who;
};

bool endsWith(std::string_view Target, std::string_view Suffix) {
  return Target.size() > Suffix.size() &&
         Target.substr(Target.size() - Suffix.size()) == Suffix;
}

bool isFile(std::string_view Target) {
  return Target.find('/') != Target.npos || endsWith(Target, ".so");
}

Expected<Found> inFile(const std::string &File) {
  Expected<const Module *> Loaded = Module::load(File);
  if (!Loaded)
    return Loaded.status();
  const std::vector<const cbridge_native_model *> &Models = (*Loaded)->models();
  if (Models.size() == 1)
    return Found{Models[0], File};
  return Status::error(StatusCode::Unsupported,
                       "module " + File +
                           (Models.empty()
                                ? ": has no compiled model; those that "
                                  "'cbridge compile --so' makes have one"
                                : ": has several models where native: wants "
                                  "one: " +
                                      listed(Models)));
}

Expected<Found> find(const RunnerString &R) {
  if (R.target().empty())
    return R.errorAtTarget(
        "expected a model of this program, native:NAME, or native:FILE.so");
  if (endsWith(R.target(), ".onnx"))
    return Status::error(StatusCode::Unsupported,
                         R.target() +
                             " is an ONNX model: compile it (cbridge compile), "
                             "or use onnx:" +
                             R.target());
  if (isFile(R.target()))
    return inFile(R.target());
  Expected<const cbridge_native_model *> Linked = linkedModel(R.target());
  if (!Linked)
    return Linked.status();
  return Found{*Linked, "native:" + R.target()};
}

Expected<EngineSource> open(const RunnerString &R, const Signature &Sig) {
  Expected<Found> F = find(R);
  return F ? openNative(F->Model, F->Who, R, Sig) : F.status();
}

Expected<Signature> describe(const RunnerString &R) {
  Expected<Found> F = find(R);
  return F ? describeNative(F->Model, F->Who) : F.status();
}

} // namespace

Scheme nativeScheme() {
  Scheme Made{"native",
              "native:NAME or native:FILE.so evaluates a model that cbridge "
              "compile has made",
              {std::begin(NativeKeys), std::end(NativeKeys)},
              open};
  Made.Describe = describe;
  return Made;
}

} // namespace cbridge
