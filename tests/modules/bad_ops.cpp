//===- bad_ops.cpp - Operators for ONNX Runtime that fail -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bad_ops::Fails, Throws, ThrowsNumber: y = x, unless x[0] is not 0.
// BAD_OPS_NOTHING: without RegisterCustomOps. BAD_OPS_REFUSES, BAD_OPS_THROWS:
// what that does.
//
//===----------------------------------------------------------------------===//
#include <onnxruntime_c_api.h>

#include <cstring>
#include <stdexcept>

namespace {

const OrtApi *Api = nullptr;

OrtStatus *fail() { return Api->CreateStatus(ORT_FAIL, "I dislike this x"); }
OrtStatus *throwError() { throw std::runtime_error("I throw at this x"); }
OrtStatus *throwNumber() { throw 42; }

template <OrtStatus *(*Refuse)()>
OrtStatus *ORT_API_CALL compute(void *, OrtKernelContext *Context) {
  const OrtValue *X = nullptr;
  OrtValue *Y = nullptr;
  void *From = nullptr, *To = nullptr;
  const int64_t Two = 2;
  OrtStatus *S = Api->KernelContext_GetInput(Context, 0, &X);
  if (!S)
    S = Api->GetTensorMutableData(const_cast<OrtValue *>(X), &From);
  if (!S && *static_cast<int64_t *>(From) != 0)
    return Refuse();
  if (!S)
    S = Api->KernelContext_GetOutput(Context, 0, &Two, 1, &Y);
  if (!S)
    S = Api->GetTensorMutableData(Y, &To);
  if (!S)
    std::memcpy(To, From, 2 * sizeof(int64_t));
  return S;
}

template <OrtStatus *(*Refuse)()>
OrtCustomOp describe(const char *(*GetName)(const OrtCustomOp *)) {
  OrtCustomOp Op = {};
  Op.version = 16;
  Op.GetName = GetName;
  Op.GetExecutionProviderType = [](const OrtCustomOp *) -> const char * {
    return nullptr;
  };
  Op.GetInputTypeCount =
      Op.GetOutputTypeCount = [](const OrtCustomOp *) -> size_t { return 1; };
  Op.GetInputType = Op.GetOutputType = [](const OrtCustomOp *, size_t) {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  };
  Op.GetInputCharacteristic = Op.GetOutputCharacteristic =
      [](const OrtCustomOp *, size_t) { return INPUT_OUTPUT_REQUIRED; };
  Op.GetInputMemoryType = [](const OrtCustomOp *, size_t) {
    return OrtMemTypeDefault;
  };
  Op.CreateKernelV2 = [](const OrtCustomOp *, const OrtApi *,
                         const OrtKernelInfo *, void **To) -> OrtStatus * {
    static int Something;
    *To = &Something;
    return nullptr;
  };
  Op.KernelDestroy = [](void *) {};
  Op.KernelComputeV2 = compute<Refuse>;
  return Op;
}

const OrtCustomOp Operators[] = {
    describe<fail>([](const OrtCustomOp *) { return "Fails"; }),
    describe<throwError>([](const OrtCustomOp *) { return "Throws"; }),
    describe<throwNumber>([](const OrtCustomOp *) { return "ThrowsNumber"; }),
};

OrtStatus *registerAll(OrtSessionOptions *Options) {
  static OrtCustomOpDomain *Domain = nullptr;
  if (!Domain) {
    if (OrtStatus *S = Api->CreateCustomOpDomain("bad_ops", &Domain))
      return S;
    for (const OrtCustomOp &Each : Operators)
      if (OrtStatus *S = Api->CustomOpDomain_Add(Domain, &Each))
        return S;
  }
  return Api->AddCustomOpDomain(Options, Domain);
}

} // namespace

#ifdef BAD_OPS_NOTHING
#define RegisterCustomOps RegisterNothing
#endif

// NOLINTBEGIN(readability-identifier-naming): the name is ONNX Runtime's
extern "C" __attribute__((visibility("default"))) OrtStatus *ORT_API_CALL
RegisterCustomOps(OrtSessionOptions *Options, const OrtApiBase *Base) {
  // NOLINTEND(readability-identifier-naming)
  Api = Base->GetApi(16);
#if defined(BAD_OPS_REFUSES)
  return Api->CreateStatus(ORT_FAIL, "I do not register");
#elif defined(BAD_OPS_THROWS)
  throw std::runtime_error("I throw instead");
#endif
  return registerAll(Options);
}
