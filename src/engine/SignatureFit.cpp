//===- SignatureFit.cpp - A pass's tensors and a model's ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/SignatureFit.h"

#include <algorithm>

namespace cbridge {

/// Extents from the last to the first, and ones before that.
static int64_t fromEnd(Span<const int64_t> Shape, size_t I) {
  return I < Shape.size() ? Shape[Shape.size() - 1 - I] : 1;
}

bool shapesFit(Span<const int64_t> A, Span<const int64_t> B) {
  for (size_t I = 0; I < std::max(A.size(), B.size()); ++I) {
    int64_t OfA = fromEnd(A, I), OfB = fromEnd(B, I);
    if (OfA != OfB && OfA != Dynamic && OfB != Dynamic)
      return false;
  }
  return true;
}

void alignExtents(Span<const int64_t> From, Span<int64_t> To) {
  for (size_t I = 0; I < To.size(); ++I)
    To[To.size() - 1 - I] = fromEnd(From, I);
}

namespace {

/// What does not fit, in one message.
struct Complaints {
  Complaints(const std::string &PassName, const std::string &ModelName)
      : PassName(PassName), ModelName(ModelName) {}

  const std::string &PassName, &ModelName;
  StatusCode Code = StatusCode::Ok;
  std::string Text;
  std::string Left;
  size_t Count = 0;

  void add(StatusCode Why, const std::string &What) {
    Code = Code == StatusCode::Ok ? Why : Code;
    // A model may have any number of tensors, of names of any length.
    constexpr size_t Enough = 4, Long = 1000;
    if (Count++ < Enough)
      Text += (Text.empty() ? "" : "; ") + What.substr(0, Long);
    else
      Left = "; and " + std::to_string(Count - Enough) + " more";
  }
  /// Complains that one side wants what the other does not have.
  void lacks(std::string Tensor, const std::string &Wants,
             const std::string &Who, const std::string &Other,
             const std::string &Has) {
    Tensor.append("': ").append(Who).append(Wants);
    add(StatusCode::Unsupported, Tensor.append(", ").append(Other).append(Has));
  }
  /// Complains if two tensors of one name differ.
  void compare(bool Input, const TensorSpec &Pass, const TensorSpec &Model) {
    bool SameType = Pass.type() == Model.type();
    if (SameType && shapesFit(Pass.shape(), Model.shape()))
      return;
    add(SameType ? StatusCode::ShapeMismatch : StatusCode::TypeMismatch,
        (Input ? "input '" : "output '") + Pass.name() + "': " + ModelName +
            (Input ? " wants " : " gives ") + Model.typeAndShape() + ", " +
            PassName + (Input ? " gives " : " wants ") + Pass.typeAndShape());
  }
};

std::string listed(const std::vector<TensorSpec> &Specs) {
  std::string Names;
  for (const TensorSpec &Spec : Specs)
    if (Names.size() < 1000)
      Names += (Names.empty() ? "'" : ", '") + Spec.name() + "'";
  return Names.empty() ? "none" : Names;
}

} // namespace

Expected<SignatureFit> SignatureFit::of(const Signature &Pass,
                                        const Signature &Model,
                                        const std::string &PassName,
                                        const std::string &ModelName) {
  SignatureFit Fit;
  Complaints Wrong{PassName, ModelName};
  for (const TensorSpec &Wanted : Model.inputs()) {
    std::optional<size_t> I = Pass.inputIndex(Wanted.name());
    if (I)
      Wrong.compare(/*Input=*/true, Pass.inputs()[*I], Wanted);
    else
      Wrong.lacks("input '" + Wanted.name(), " wants " + Wanted.typeAndShape(),
                  ModelName, PassName, " has no such feature");
    Fit.Inputs.push_back(I.value_or(0));
  }
  for (const TensorSpec &Wanted : Pass.outputs()) {
    std::optional<size_t> I = Model.outputIndex(Wanted.name());
    if (I)
      Wrong.compare(/*Input=*/false, Wanted, Model.outputs()[*I]);
    else
      Wrong.lacks("output '" + Wanted.name(), " wants it", PassName, ModelName,
                  " has " + listed(Model.outputs()));
    Fit.Outputs.push_back(I.value_or(0));
  }
  if (Wrong.Code != StatusCode::Ok)
    return Status::error(Wrong.Code, Wrong.Text + Wrong.Left);
  return Fit;
}

} // namespace cbridge
