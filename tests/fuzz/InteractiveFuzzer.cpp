//===- InteractiveFuzzer.cpp - Fuzzes what LLVM asks ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "interactive/AdviceRules.h"
#include "interactive/InteractiveStream.h"

#include <algorithm>
#include <cstdlib>

using namespace cbridge;

static void mustHold(bool Condition) {
  if (!Condition)
    std::abort();
}

/// Whatever was asked, the default is an answer, and of the right size.
static void answer(const InteractiveStream &In) {
  AdviceRules Rules(In.signature());
  const TensorSpec &Spec = In.signature().outputs()[0];
  size_t Size = Spec.elementCount() * sizeOf(Spec.type());
  mustHold(Size > 0 && Size <= InteractiveStream::MaxAdvice);
  std::vector<unsigned char> Advice(Size, 0xff);
  Rules.isLegal(In.features(), Advice);
  Rules.writeDefault(In.features(), Advice);
  bool Legal = Rules.isLegal(In.features(), Advice);
  if (Rules.kind() == AdviceRules::Kind::Eviction) {
    size_t Mask = *In.signature().inputIndex("mask");
    Span<const int64_t> Allowed = In.features()[Mask].as<int64_t>();
    Legal |= std::all_of(Allowed.begin(), Allowed.end(),
                         [](int64_t Value) { return Value == 0; });
  }
  mustHold(Legal);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  if (Size == 0)
    return 0;
  // The first byte says in which pieces the others come.
  size_t Piece = 1 + Data[0] * size_t(8);
  InteractiveStream In;
  for (size_t At = 1; At < Size;) {
    size_t Count = std::min(Piece, Size - At);
    MutableBytes To = In.space();
    mustHold(To.size() >= Count);
    std::copy(Data + At, Data + At + Count, To.begin());
    In.filled(Count);
    At += Count;
    for (;;) {
      Expected<InteractiveStream::Event> E = In.next();
      if (!E) {
        mustHold(E.status().code() == StatusCode::Protocol ||
                 E.status().code() == StatusCode::OutOfMemory);
        mustHold(!In.next().ok()); // it stays failed
        In.reset();
        mustHold(!In.begun());
        break;
      }
      if (*E == InteractiveStream::Event::Nothing)
        break;
      mustHold(In.signature().validate().ok());
      if (*E == InteractiveStream::Event::Question)
        answer(In);
    }
  }
  return 0;
}
