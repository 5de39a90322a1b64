//===- Reference.cpp - The models under test in plain C++ -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// reference:NAME, in a module: what the models of ModelsUnderTest.h compute.
//
//===----------------------------------------------------------------------===//
#include "ModelsUnderTest.h"
#include "core/ForElementType.h"
#include "engine/SignatureFit.h"
#include "module/Export.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace cbridge;

namespace {

template <typename T> Span<const T> in(const TensorStorage &In, size_t I = 0) {
  return In.view(I).as<T>();
}
template <typename T> Span<T> out(TensorStorage &Out, size_t I = 0) {
  MutableBytes Data = Out.bytes(I);
  return {reinterpret_cast<T *>(Data.data()), Data.size() / sizeof(T)};
}

/// Reads In, fills Out, both in the order of the model.
using Compute = Status (*)(const TensorStorage &In, TensorStorage &Out);

Status affine(const TensorStorage &In, TensorStorage &Out) {
  static constexpr float W[3][4] = {
      {1, 2, 3, 4}, {-1, 0, 1, 0}, {5, -5, 2, -2}};
  static constexpr float B[3] = {10, 20, -30};
  for (size_t Row = 0; Row < 3; ++Row) {
    float Sum = B[Row];
    for (size_t I = 0; I < 4; ++I)
      Sum += W[Row][I] * in<float>(In)[I];
    out<float>(Out)[Row] = Sum;
  }
  return Status();
}

Status argmax(const TensorStorage &In, TensorStorage &Out) {
  Span<const float> X = in<float>(In);
  out<int64_t>(Out)[0] = std::max_element(X.begin(), X.end()) - X.begin();
  return Status();
}

Status dynamic(const TensorStorage &In, TensorStorage &Out) {
  Span<const float> Rows = in<float>(In);
  if (Status S = Out.resize(1, In.view(0).Extents); !S)
    return S;
  Span<float> Sum = out<float>(Out, 0), Doubled = out<float>(Out, 1);
  std::fill(Sum.begin(), Sum.end(), 0.0f);
  for (size_t I = 0; I < Rows.size(); ++I) {
    Sum[I % 3] += Rows[I];
    Doubled[I] = 2 * Rows[I];
  }
  return Status();
}

Status identity(const TensorStorage &In, TensorStorage &Out) {
  return Out.assign(0, In.view(0));
}

Status multi(const TensorStorage &In, TensorStorage &Out) {
  bool Flag = in<bool>(In, 0)[0];
  out<bool>(Out, 0)[0] = !Flag;
  Span<const int64_t> Ints = in<int64_t>(In, 2);
  out<int64_t>(Out, 1)[0] = Ints[0] + Ints[1] + Ints[2];
  for (size_t I = 0; I < 4; ++I)
    out<float>(Out, 2)[I] = in<float>(In, 1)[I] * (Flag ? 2.0f : 1.0f);
  return Status();
}

Status noInputs(const TensorStorage &, TensorStorage &Out) {
  out<int64_t>(Out)[0] = 7;
  out<int64_t>(Out)[1] = -7;
  return Status();
}

Status notANumber(const TensorStorage &In, TensorStorage &Out) {
  out<float>(Out)[0] = std::log(in<float>(In)[0]);
  return Status();
}

/// The transposition; extents of 1 make no difference.
Status rank8(const TensorStorage &In, TensorStorage &Out) {
  for (size_t I = 0; I < 48; ++I) {
    size_t Last = I % 3, Bits = I / 3, Reversed = 0;
    for (size_t B = 0; B < 4; ++B)
      Reversed |= ((Bits >> B) & 1) << (3 - B);
    out<int32_t>(Out)[Last * 16 + Reversed] = in<int32_t>(In)[I];
  }
  return Status();
}

Status scalar(const TensorStorage &In, TensorStorage &Out) {
  out<float>(Out)[0] = 2 * in<float>(In)[0] + 1;
  return Status();
}

Status symbolic(const TensorStorage &In, TensorStorage &Out) {
  Span<const int64_t> A = in<int64_t>(In, 0), B = in<int64_t>(In, 1);
  if (A.size() != B.size())
    return Status::error(StatusCode::ShapeMismatch,
                         "'a' and 'b' differ in size");
  if (Status S = Out.resize(0, In.view(0).Extents); !S)
    return S;
  for (size_t I = 0; I < A.size(); ++I)
    out<int64_t>(Out)[I] = A[I] + B[I];
  return Status();
}

/// y = x[2], x[0], x[1].
Status elements(const TensorStorage &In, TensorStorage &Out) {
  TensorView X = In.view(0);
  if (X.Spec->isString()) {
    std::string_view Y[] = {X.string(2), X.string(0), X.string(1)};
    return Out.setStrings(0, Y, X.Extents);
  }
  size_t Size = sizeOf(X.Spec->type());
  unsigned char *To = Out.bytes(0).data();
  std::memcpy(To, X.Data.data() + 2 * Size, Size);
  std::memcpy(To + Size, X.Data.data(), 2 * Size);
  return Status();
}

constexpr std::pair<std::string_view, Compute> Models[] = {
    {"affine", affine},      {"argmax", argmax},
    {"batched", affine},     {"dynamic", dynamic},
    {"identity", identity},  {"multi", multi},
    {"no_inputs", noInputs}, {"not_a_number", notANumber},
    {"rank8", rank8},        {"scalar", scalar},
    {"symbolic", symbolic},  {"elements_", elements}};

/// The model's own: "batched" has one more extent than its pass.
Signature signatureOf(const std::string &Name) {
  if (Name == "batched")
    return {{TensorSpec::create<float>("x", {1, 4})},
            TensorSpec::create<float>("y", {1, 3})};
  return conformance::passOf(Name);
}

class ReferenceEngine : public BufferedEngine {
public:
  ReferenceEngine(const Signature &Pass, const Signature &Own, SignatureFit Fit,
                  Compute Model)
      : BufferedEngine(Pass), Fit(std::move(Fit)), Model(Model),
        OwnInputs(Own.inputs()), OwnOutputs(Own.outputs()) {}

  Status run(const Call &) override {
    for (size_t I = 0; I < Fit.Inputs.size(); ++I)
      if (Status S = copy(Inputs.view(Fit.Inputs[I]), OwnInputs, I); !S)
        return S;
    if (Status S = Model(OwnInputs, OwnOutputs); !S)
      return S;
    for (size_t O = 0; O < Fit.Outputs.size(); ++O)
      if (Status S = copy(OwnOutputs.view(Fit.Outputs[O]), Outputs, O); !S)
        return S;
    return Status();
  }

private:
  static Status copy(const TensorView &From, TensorStorage &To, size_t I) {
    const TensorSpec &Spec = To.spec(I);
    int64_t Extents[MaxRank];
    Span<int64_t> Used(Extents, Spec.shape().size());
    alignExtents(From.Extents, Used);
    if (Status S = Spec.checkExtents(Used); !S)
      return S;
    return To.assign(I, {&Spec, Used, From.Data});
  }

  SignatureFit Fit;
  Compute Model;
  TensorStorage OwnInputs, OwnOutputs;
};

Expected<EngineSource> openReference(const RunnerString &R,
                                     const Signature &Pass) {
  for (const auto &[Name, Model] : Models) {
    if (R.target() != Name &&
        (Name != "elements_" || R.target().rfind(Name, 0) != 0))
      continue;
    Signature Own = signatureOf(R.target());
    Expected<SignatureFit> Fit = SignatureFit::of(Pass, Own);
    if (!Fit)
      return Fit.status().withContext("reference:" + R.target());
    return EngineSource([Pass, Own, Fit = *Fit, Model = Model] {
      return makeEngine<ReferenceEngine>(Pass, Own, Fit, Model);
    });
  }
  return Status::error(StatusCode::Io,
                       "reference:" + R.target() + ": no such model");
}

constexpr cbridge_runner_type Reference = exported::exportRunner<openReference>(
    "reference", "reference:NAME runs a model of the tests", nullptr);
constexpr const cbridge_runner_type *Runners[] = {&Reference, nullptr};
constexpr cbridge_module Module = {sizeof(Module), CBRIDGE_MODULE_VERSION,
                                   "reference",    Runners,
                                   nullptr,        nullptr,
                                   nullptr};

} // namespace

CBRIDGE_EXPORT_MODULE(Module)
