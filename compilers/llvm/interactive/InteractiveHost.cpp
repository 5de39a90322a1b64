//===- InteractiveHost.cpp - Answers LLVM's interactive questions ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InteractiveHost.h"

namespace cbridge {

Expected<InteractiveHost> InteractiveHost::open(Span<const std::string> Bases) {
  InteractiveHost Host;
  Host.Lines.reserve(Bases.size());
  for (const std::string &Base : Bases) {
    Expected<InteractiveChannel> C = InteractiveChannel::make(Base);
    if (!C)
      return C.status();
    Host.Lines.emplace_back(std::move(*C));
  }
  return Host;
}

/// Reads on until a compiler waits for an answer: true then.
Expected<bool> InteractiveHost::look(Line &L) {
  for (;;) {
    Expected<InteractiveChannel::Event> E = L.Channel.read();
    if (!E)
      return E.status();
    switch (*E) {
    case InteractiveChannel::Event::Nothing:
      L.Look = false;
      return false;
    case InteractiveChannel::Event::Began:
      ++L.Count.Compilers;
      L.Rules = AdviceRules(L.Channel.stream().signature());
      break;
    case InteractiveChannel::Event::Question:
      ++L.Count.Questions;
      return true;
    case InteractiveChannel::Event::Ended:
      break;
    }
  }
}

Expected<const InteractiveQuestion *> InteractiveHost::next(Deadline Until,
                                                            int Stop) {
  if (Waiting)
    if (Status S = replace(); !S)
      return S;
  for (;;) {
    for (size_t I = 0; I < Lines.size(); ++I) {
      size_t Number = (Turn + I) % Lines.size();
      Line &L = Lines[Number];
      if (!L.Look)
        continue;
      Expected<bool> Found = look(L);
      if (!Found)
        return Found.status();
      if (!*Found)
        continue;
      const InteractiveStream &In = L.Channel.stream();
      Asked = {Number,       &In.signature(), In.context(),
               In.ordinal(), In.features(),   &L.Rules};
      Waiting = true;
      Turn = Number + 1;
      return &Asked;
    }
    Files.clear();
    for (const Line &L : Lines)
      Files.add(L.Channel.file());
    if (Stop >= 0)
      Files.add(Stop);
    if (!Files.wait(Until))
      return Status::error(StatusCode::Timeout, "no compiler asks");
    for (size_t I = 0; I < Lines.size(); ++I)
      Lines[I].Look = Files.woken(I, I + 1);
    // Last: whoever says stop knows that no compiler is left.
    if (Stop >= 0 && Files.woken(Lines.size(), Files.size()))
      return nullptr;
  }
}

Expected<bool> InteractiveHost::reply(Bytes Advice) {
  if (!Waiting)
    return Status::error(StatusCode::InvalidArgument,
                         "no compiler waits for an answer");
  const TensorSpec &Spec = Asked.Sig->outputs()[0];
  if (Advice.size() != Spec.elementCount() * sizeOf(Spec.type()))
    return Status::error(StatusCode::ShapeMismatch,
                         "advice '" + Spec.name() + "': the compiler wants " +
                             Spec.typeAndShape() + ", not " +
                             std::to_string(Advice.size()) + " bytes");
  if (!Asked.Rules->isLegal(Asked.Features, Advice)) {
    if (Status S = replace(); !S)
      return S;
    return false;
  }
  if (Status S = send(Advice); !S)
    return S;
  return true;
}

Status InteractiveHost::replace() {
  ++Lines[Asked.Channel].Count.Replaced;
  unsigned char Advice[InteractiveStream::MaxAdvice];
  const TensorSpec &Spec = Asked.Sig->outputs()[0];
  MutableBytes Default(Advice, Spec.elementCount() * sizeOf(Spec.type()));
  Asked.Rules->writeDefault(Asked.Features, Default);
  return send(Default);
}

Status InteractiveHost::send(Bytes Advice) {
  Waiting = false;
  return Lines[Asked.Channel].Channel.reply(Advice);
}

} // namespace cbridge
