//===- BareOrt.cpp - ONNX Runtime without anything of ours ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BareOrt.h"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace bench {

namespace {

// The oldest that has what is called here.
constexpr uint32_t ApiVersion = 11;

struct Library {
  const OrtApi *Api;
  OrtEnv *Environment;
};

[[noreturn]] void fail(const char *Why) {
  std::fprintf(stderr, "bare ONNX Runtime: %s\n", Why);
  std::exit(1);
}

const Library &library();

void check(OrtStatus *S) {
  if (S)
    fail(library().Api->GetErrorMessage(S));
}

const Library &library() {
  static const Library L = [] {
    ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    const char *File = std::getenv("CBRIDGE_ONNXRUNTIME");
    void *Handle = File ? ::dlopen(File, RTLD_NOW | RTLD_LOCAL) : nullptr;
    void *Base = Handle ? ::dlsym(Handle, "OrtGetApiBase") : nullptr;
    if (!Base)
      fail("CBRIDGE_ONNXRUNTIME must be the path of libonnxruntime.so");
    auto GetBase = reinterpret_cast<const OrtApiBase *(*)()>(Base);
    Library Made{GetBase()->GetApi(ApiVersion), nullptr};
    if (OrtStatus *S = Made.Api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench",
                                           &Made.Environment))
      fail(Made.Api->GetErrorMessage(S));
    return Made;
  }();
  return L;
}

} // namespace

BareSession::BareSession(const std::string &File) {
  const OrtApi *Api = library().Api;
  OrtSessionOptions *Options = nullptr;
  check(Api->CreateSessionOptions(&Options));
  check(Api->SetIntraOpNumThreads(Options, 1));
  check(Api->SetSessionExecutionMode(Options, ORT_SEQUENTIAL));
  check(Api->SetSessionLogSeverityLevel(Options, ORT_LOGGING_LEVEL_FATAL));
  // Both have a lock that all threads of a session share.
  check(Api->DisableCpuMemArena(Options));
  check(Api->DisableMemPattern(Options));
  check(Api->CreateSession(library().Environment, File.c_str(), Options,
                           &Session));
  Api->ReleaseSessionOptions(Options);
}

BareSession::~BareSession() { library().Api->ReleaseSession(Session); }

void BareBinding::Free::operator()(float *P) const { std::free(P); }

OrtValue *BareBinding::makeValue(const Tensor &T,
                                 std::unique_ptr<float, Free> &Buffer) {
  size_t Bytes = T.size() * sizeof(float);
  if (!Buffer)
    Buffer.reset(
        static_cast<float *>(std::aligned_alloc(64, (Bytes + 63) / 64 * 64)));
  OrtValue *Value = nullptr;
  check(library().Api->CreateTensorWithDataAsOrtValue(
      Memory, Buffer.get(), Bytes, T.Shape.data(), T.Shape.size(),
      ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &Value));
  return Value;
}

BareBinding::BareBinding(const BareSession &S,
                         const std::vector<Tensor> &Inputs,
                         const Tensor &Output)
    : Session(S.get()), FirstName(Inputs[0].Name), OutputSize(Output.size()) {
  const OrtApi *Api = library().Api;
  check(
      Api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &Memory));
  check(Api->CreateRunOptions(&Options));
  check(Api->CreateIoBinding(Session, &Binding));
  for (const Tensor &T : Inputs) {
    Buffers.emplace_back();
    Values.push_back(makeValue(T, Buffers.back()));
    check(Api->BindInput(Binding, T.Name.c_str(), Values.back()));
  }
  Buffers.emplace_back();
  Values.push_back(makeValue(Output, Buffers.back()));
  check(Api->BindOutput(Binding, Output.Name.c_str(), Values.back()));
}

BareBinding::~BareBinding() {
  const OrtApi *Api = library().Api;
  Api->ReleaseIoBinding(Binding);
  for (OrtValue *Value : Values)
    Api->ReleaseValue(Value);
  Api->ReleaseRunOptions(Options);
  Api->ReleaseMemoryInfo(Memory);
}

cbridge::Span<const float> BareBinding::run() {
  check(library().Api->RunWithBinding(Session, Options, Binding));
  return {Buffers.back().get(), OutputSize};
}

void BareBinding::resizeInput(const std::vector<int64_t> &Shape) {
  const OrtApi *Api = library().Api;
  Api->ReleaseValue(Values[0]);
  Values[0] = makeValue({FirstName, Shape}, Buffers[0]);
  check(Api->BindInput(Binding, FirstName.c_str(), Values[0]));
}

} // namespace bench
