//===- BesideFields.cpp - Fields that no tensor is ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/FieldBinding.h"

#include <algorithm>
#include <map>

namespace cbridge {

namespace pb = google::protobuf;

BesideFields bindBeside(const pb::Descriptor *To,
                        const std::vector<FieldBinding> &Bound) {
  auto Free = [&](const char *Name) -> Field {
    Field F = To->FindFieldByName(Name);
    if (!F || F->is_repeated() ||
        F->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE ||
        F->real_containing_oneof())
      return nullptr;
    for (const FieldBinding &B : Bound)
      if (B.Leaf == F && B.Outer.empty() && !B.Each)
        return nullptr;
    return F;
  };
  auto Number = [&](const char *Name) {
    Field F = Free(Name);
    ElementType T = F ? elementTypeOf(F) : ElementType::String;
    bool Fits = F && F->cpp_type() != pb::FieldDescriptor::CPPTYPE_ENUM &&
                T >= ElementType::Int32 && T <= ElementType::UInt64;
    return Fits ? F : nullptr;
  };
  auto Bool = [&](const char *Name) {
    Field F = Free(Name);
    return F && elementTypeOf(F) == ElementType::Bool ? F : nullptr;
  };
  BesideFields Of;
  Of.Step = Number("step");
  Of.Runner = Number("runner");
  Of.Context = Free("context");
  if (Of.Context &&
      Of.Context->cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING)
    Of.Context = nullptr;
  Of.Reward = Free("reward");
  if (Of.Reward && elementTypeOf(Of.Reward) != ElementType::Float &&
      elementTypeOf(Of.Reward) != ElementType::Double)
    Of.Reward = nullptr;
  Of.Terminated = Bool("terminated");
  if (!Of.Terminated)
    Of.Terminated = Bool("done");
  Of.Truncated = Bool("truncated");
  return Of;
}

Status checkRequired(const pb::Descriptor *To,
                     const std::vector<FieldBinding> &Bound,
                     const BesideFields &Beside, const char *What) {
  // What is set, of the message at the end of each way.
  std::map<std::vector<Field>, std::vector<Field>> Set;
  Set[{}] = {Beside.Step,   Beside.Runner,     Beside.Context,
             Beside.Reward, Beside.Terminated, Beside.Truncated};
  for (const FieldBinding &B : Bound) {
    std::vector<Field> Way;
    auto Go = [&](Field F) {
      Set[Way].push_back(F);
      Way.push_back(F);
    };
    for (Field F : B.Outer)
      Go(F);
    if (B.Each)
      Go(B.Each);
    for (Field F : B.Inner)
      Go(F);
    Go(B.Leaf);
  }
  for (const auto &[Way, Fields] : Set) {
    const pb::Descriptor *In = Way.empty() ? To : Way.back()->message_type();
    for (int I = 0; I < In->field_count(); ++I) {
      Field F = In->field(I);
      if (!F->is_required() ||
          std::find(Fields.begin(), Fields.end(), F) != Fields.end())
        continue;
      std::string Path;
      for (Field Each : Way)
        Path += Each->name() + ".";
      return Status::error(StatusCode::ShapeMismatch,
                           To->full_name() + " requires '" + Path + F->name() +
                               "', for which there is no " + What);
    }
  }
  return Status();
}

} // namespace cbridge
