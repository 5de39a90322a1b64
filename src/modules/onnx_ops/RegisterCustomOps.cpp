//===- RegisterCustomOps.cpp - What ONNX Runtime looks for ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/onnx_ops/Operator.h"

#include <cstdio>
#include <mutex>
#include <new>

using namespace cbridge::onnx_ops;

namespace {

/// The operators as one ONNX Runtime knows them. A process can have several: a
/// Python package has one inside itself.
struct Domain {
  const OrtApi *Api;
  OrtCustomOpDomain *Operators;
  Domain *Next;
};

OrtStatus *makeDomain(const OrtApi &Api, OrtCustomOpDomain **To) {
  if (OrtStatus *S = Api.CreateCustomOpDomain("compiler_bridge", To))
    return S;
  OperatorList List = bucketizeOperators();
  for (size_t I = 0; I < List.Size; ++I)
    if (OrtStatus *S = Api.CustomOpDomain_Add(*To, List.Data[I])) {
      Api.ReleaseCustomOpDomain(*To);
      return S;
    }
  return nullptr;
}

/// Sessions use it until they end, and nobody tells when: it is made once and
/// stays.
OrtStatus *domainFor(const OrtApi &Api, OrtCustomOpDomain **To) {
  static std::mutex Using;
  static Domain *First = nullptr;
  std::lock_guard<std::mutex> Lock(Using);
  for (Domain *Each = First; Each; Each = Each->Next)
    if (Each->Api == &Api) {
      *To = Each->Operators;
      return nullptr;
    }
  auto *Made = new (std::nothrow) Domain{&Api, nullptr, First};
  if (!Made)
    return failure(Api, "out of memory");
  if (OrtStatus *S = makeDomain(Api, &Made->Operators)) {
    delete Made;
    return S;
  }
  First = Made;
  *To = Made->Operators;
  return nullptr;
}

/// The minor version in "1.31.1".
unsigned minorVersion(const char *Version) {
  unsigned Major = 0, Minor = 0;
  if (std::sscanf(Version, "%u.%u", &Major, &Minor) != 2)
    return 0;
  return Major > 1 ? ApiNeeded : Minor;
}

} // namespace

// NOLINTBEGIN(readability-identifier-naming): the name is ONNX Runtime's
extern "C" __attribute__((visibility("default"))) OrtStatus *ORT_API_CALL
RegisterCustomOps(OrtSessionOptions *Options, const OrtApiBase *Base);

OrtStatus *ORT_API_CALL RegisterCustomOps(OrtSessionOptions *Options,
                                          const OrtApiBase *Base) {
  // NOLINTEND(readability-identifier-naming)
  // Asking for an API that it does not have would make it print.
  const char *Version = Base->GetVersionString();
  const OrtApi *Api =
      minorVersion(Version) < ApiNeeded ? nullptr : Base->GetApi(ApiNeeded);
  if (!Api)
    return failure(*Base->GetApi(1),
                   "ONNX Runtime %s is too old for these operators; 1.%u or "
                   "later is needed",
                   Version, ApiNeeded);
  OrtCustomOpDomain *Domain = nullptr;
  if (OrtStatus *S = domainFor(*Api, &Domain))
    return S;
  return Api->AddCustomOpDomain(Options, Domain);
}
