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
  StatusCode Code = StatusCode::Ok;
  std::string Text;

  void add(StatusCode Why, const std::string &What) {
    Code = Code == StatusCode::Ok ? Why : Code;
    Text += (Text.empty() ? "" : "; ") + What;
  }
  /// Complains if two tensors of one name differ.
  void compare(const char *Side, const TensorSpec &Pass,
               const TensorSpec &Model, const char *PassVerb,
               const char *ModelVerb) {
    bool SameType = Pass.type() == Model.type();
    if (SameType && shapesFit(Pass.shape(), Model.shape()))
      return;
    add(SameType ? StatusCode::ShapeMismatch : StatusCode::TypeMismatch,
        std::string(Side) + " '" + Pass.name() + "': the model " + ModelVerb +
            " " + Model.typeAndShape() + ", the pass " + PassVerb + " " +
            Pass.typeAndShape());
  }
};

std::string listed(const std::vector<TensorSpec> &Specs) {
  std::string Names;
  for (const TensorSpec &Spec : Specs)
    Names += (Names.empty() ? "'" : ", '") + Spec.name() + "'";
  return Names.empty() ? "none" : Names;
}

} // namespace

Expected<SignatureFit> SignatureFit::of(const Signature &Pass,
                                        const Signature &Model) {
  SignatureFit Fit;
  Complaints Wrong;
  for (const TensorSpec &Wanted : Model.inputs()) {
    std::optional<size_t> I = Pass.inputIndex(Wanted.name());
    if (I)
      Wrong.compare("input", Pass.inputs()[*I], Wanted, "gives", "wants");
    else
      Wrong.add(StatusCode::Unsupported,
                "input '" + Wanted.name() + "': the model wants " +
                    Wanted.typeAndShape() + ", the pass has no such feature");
    Fit.Inputs.push_back(I.value_or(0));
  }
  for (const TensorSpec &Wanted : Pass.outputs()) {
    std::optional<size_t> I = Model.outputIndex(Wanted.name());
    if (I)
      Wrong.compare("output", Wanted, Model.outputs()[*I], "wants", "gives");
    else
      Wrong.add(StatusCode::Unsupported, "output '" + Wanted.name() +
                                             "': the pass wants it, the model "
                                             "has " +
                                             listed(Model.outputs()));
    Fit.Outputs.push_back(I.value_or(0));
  }
  if (Wrong.Code != StatusCode::Ok)
    return Status::error(Wrong.Code, Wrong.Text);
  return Fit;
}

} // namespace cbridge
