//===- ModelAdvisor.cpp - A model that answers LLVM's questions -----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ModelAdvisor.h"

namespace cbridge {

Status ModelAdvisor::open(const Signature &Sig) {
  Runner.reset();
  // What is not legal we notice ourselves, and failures are returned to us.
  auto Tell = [To = NotRecorded](const Status &Why) {
    if (To->ok() && Why.code() != StatusCode::IllegalDecision)
      *To = Why;
  };
  Expected<Model> Opened = Schemes
                               ? Model::open(RunnerString, Sig, *Schemes, Tell)
                               : Model::open(RunnerString, Sig, Tell);
  if (!Opened)
    return Opened.status();
  if (Status S = Opened->whyNot(); !S)
    return S;
  Runner = Opened->runner();
  return Status();
}

/// Fills Advice with the model's decision.
Status ModelAdvisor::ask(const InteractiveQuestion &Q) {
  // The compilers of one command have one signature, mostly.
  if (!Runner || Runner->signature() != *Q.Sig)
    if (Status S = open(*Q.Sig); !S)
      return S;
  for (size_t I = 0; I < Q.Features.size(); ++I) {
    MutableBytes To = Runner->getTensorUntyped(I);
    if (!To.empty())
      std::memcpy(To.data(), Q.Features[I].Data.data(), To.size());
  }
  Runner->switchContext(Q.Context);
  Q.Rules->restrict(*Runner, Q.Features);
  Expected<Decision> Decided = Runner->evaluate();
  if (!Decided)
    return Decided.status();
  Bytes Data = Decided->tensor(0).Data;
  std::memcpy(Advice.data(), Data.data(), Advice.size());
  return Status();
}

Bytes ModelAdvisor::answer(const InteractiveQuestion &Q) {
  const TensorSpec &Spec = Q.Sig->outputs()[0];
  Advice.resize(Spec.elementCount() * sizeOf(Spec.type()));
  Status S = Failure.ok() ? ask(Q) : Failure;
  if (S.ok()) {
    ++Decisions;
    return Advice;
  }
  Q.Rules->writeDefault(Q.Features, Advice);
  if (S.code() != StatusCode::IllegalDecision) {
    Failure = S;
    Runner.reset();
    return Advice;
  }
  ++Replaced;
  if (Illegal.ok())
    Illegal = S;
  TensorView Taken = {&Spec, Spec.shape(), Advice};
  Runner->noteFallback(S, Span<const TensorView>(&Taken, 1));
  return Advice;
}

} // namespace cbridge
