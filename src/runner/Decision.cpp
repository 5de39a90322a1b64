//===- Decision.cpp - Reading a decision ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Decision.h>

namespace cbridge {

Expected<Number> Decision::number(const TensorView &V) {
  if (V.Spec->isString())
    return wrongType(V, "a number");
  if (V.elementCount() != 1)
    return Status::error(StatusCode::ShapeMismatch,
                         "decision '" + V.Spec->name() + "' has " +
                             std::to_string(V.elementCount()) +
                             " elements, wanted one");
  return Number::load(V.Spec->type(), V.Data.data());
}

Status Decision::wrongType(const TensorView &V, std::string_view Wanted) {
  return Status::error(StatusCode::TypeMismatch,
                       "decision '" + V.Spec->name() + "' is " +
                           V.Spec->typeAndShape() + " and cannot be read as " +
                           std::string(Wanted));
}

Status Decision::wrongValue(const TensorView &V, const Number &Value,
                            std::string_view Wanted) {
  return Status::error(StatusCode::TypeMismatch,
                       "decision '" + V.Spec->name() + "' is " +
                           Value.toString() + ", which no " +
                           std::string(Wanted) + " can be");
}

Status Decision::noOutput(const std::string &What) const {
  std::string Known;
  for (const TensorSpec &Spec : Sig->outputs())
    Known += (Known.empty() ? "" : ", ") + Spec.name();
  return Status::error(StatusCode::InvalidArgument,
                       "there is no output " + What + "; the signature has " +
                           Known);
}

Status Decision::noOutput(size_t I) const {
  return noOutput(std::to_string(I));
}

} // namespace cbridge
