//===- Catalog.cpp - The schemes of this library --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Model.h>

#include "catalog/Modules.h"
#include "engine/fixed/Fixed.h"
#ifdef CBRIDGE_HAS_ONNX
#include "engine/onnx/Onnx.h"
#endif
#include "engine/remote/Remote.h"
#include "engine/replay/Replay.h"
#ifdef CBRIDGE_HAS_TFLITE
#include "engine/tflite/Tflite.h"
#endif

namespace cbridge {

/// Runner for the strings that it claims, Remote for the others.
static Scheme either(const Scheme &Runner, const Scheme &Remote) {
  Scheme Both = Remote;
  Both.Keys.insert(Both.Keys.end(), Runner.Keys.begin(), Runner.Keys.end());
  Both.Open = [Runner, Remote](const RunnerString &R, const Signature &Sig) {
    return Runner.Claims(R) ? Runner.Open(R, Sig) : Remote.Open(R, Sig);
  };
  return Both;
}

static Expected<Scheme> schemeOfModule(std::string_view Name) {
  auto Has = [](const Module &M, std::string_view Wanted) {
    return M.runner(Wanted) || M.channel(Wanted);
  };
  Expected<const Module *> Found = moduleWith(Name, Has, "scheme");
  if (!Found)
    return Found.status();
  const Scheme *Runner = (*Found)->runner(Name);
  const ChannelScheme *Channel = (*Found)->channel(Name);
  if (Runner && (!Channel || !Runner->Claims))
    return *Runner;
  Scheme Remote = remoteScheme(*Channel);
  return Runner ? either(*Runner, Remote) : Remote;
}

/// A scheme that this build leaves out, so that its strings say so.
[[maybe_unused]] static Scheme leftOut(const std::string &Name,
                                       const std::string &Option,
                                       std::vector<std::string_view> Keys) {
  return {Name, Name + ": is not in this build", std::move(Keys),
          [Name, Option](const RunnerString &,
                         const Signature &) -> Expected<EngineSource> {
            return Status::error(StatusCode::Unsupported,
                                 "this CompilerBridge was built without '" +
                                     Name + ":' (CMake's " + Option + ")");
          }};
}

Registry Registry::builtin() {
  Registry R;
  R.add(constantScheme());
  R.add(heuristicScheme());
  R.add(replayScheme());
  R.add(nativeScheme());
#ifdef CBRIDGE_HAS_ONNX
  R.add(onnxScheme());
#else
  R.add(leftOut("onnx",
                "CBRIDGE_WITH_ONNX, which needs ONNX Runtime's headers, in "
                "ONNXRUNTIME_ROOT for example",
                {"threads", "custom_ops"}));
#endif
  R.add(tfScheme());
#ifdef CBRIDGE_HAS_TFLITE
  R.add(tfliteScheme());
#else
  R.add(leftOut("tflite", "CBRIDGE_WITH_TFLITE", {}));
#endif
  for (const ChannelScheme &Channel : channelSchemes())
    R.add(remoteScheme(Channel));
  R.Elsewhere = schemeOfModule;
  return R;
}

Status Registry::addModule(const std::string &File) {
  Expected<const Module *> M = Module::load(File);
  if (!M)
    return M.status();
  for (const Scheme &Runner : (*M)->runners())
    add(Runner);
  for (const ChannelScheme &Channel : (*M)->channels())
    add(remoteScheme(Channel));
  return Status();
}

Expected<Model> Model::open(std::string_view RunnerString, Signature Sig,
                            FallbackSink OnFallback) {
  return open(RunnerString, std::move(Sig), Registry::builtin(),
              std::move(OnFallback));
}

Expected<Signature> Model::describe(std::string_view RunnerString) {
  return describe(RunnerString, Registry::builtin());
}

} // namespace cbridge
