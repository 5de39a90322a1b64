//===- BesideFields.cpp - Fields that no tensor is ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/FieldBinding.h"

#include <algorithm>
#include <map>

namespace cbridge {

BesideFields bindBeside(const MessageType *To,
                        const std::vector<FieldBinding> &Bound) {
  auto Free = [&](const char *Name) -> Field {
    Field F = To->find(Name);
    if (!F || F->Repeated || F->isMessage() || F->Oneof >= 0)
      return nullptr;
    for (const FieldBinding &B : Bound)
      if (B.Leaf == F && B.Outer.empty() && !B.Each)
        return nullptr;
    return F;
  };
  auto Number = [&](const char *Name) {
    Field F = Free(Name);
    ElementType T = F ? elementTypeOf(F->Kind) : ElementType::String;
    bool Fits =
        F && !F->Enum && T >= ElementType::Int32 && T <= ElementType::UInt64;
    return Fits ? F : nullptr;
  };
  auto Bool = [&](const char *Name) {
    Field F = Free(Name);
    return F && elementTypeOf(F->Kind) == ElementType::Bool ? F : nullptr;
  };
  BesideFields Of;
  Of.Step = Number("step");
  Of.Runner = Number("runner");
  Of.Context = Free("context");
  if (Of.Context && !Of.Context->isText())
    Of.Context = nullptr;
  Of.Reward = Free("reward");
  if (Of.Reward && elementTypeOf(Of.Reward->Kind) != ElementType::Float &&
      elementTypeOf(Of.Reward->Kind) != ElementType::Double)
    Of.Reward = nullptr;
  Of.Terminated = Bool("terminated");
  if (!Of.Terminated)
    Of.Terminated = Bool("done");
  Of.Truncated = Bool("truncated");
  return Of;
}

Status checkRequired(const MessageType *To,
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
    const MessageType *In = Way.empty() ? To : Way.back()->Message;
    for (const FieldType &Each : In->Fields) {
      Field F = &Each;
      if (!F->Required ||
          std::find(Fields.begin(), Fields.end(), F) != Fields.end())
        continue;
      std::string Path;
      for (Field On : Way)
        Path += On->Name + ".";
      return Status::error(StatusCode::ShapeMismatch,
                           To->FullName + " requires '" + Path + F->Name +
                               "', for which there is no " + What);
    }
  }
  return Status();
}

} // namespace cbridge
