//===- TrainingLogFuzzer.cpp - Fuzzes the reader of logs ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/TrainingLog.h>

#include <algorithm>
#include <cstdlib>

using namespace cbridge;

static void mustHold(bool Condition) {
  if (!Condition)
    std::abort();
}

/// Reads every byte, so that a wrong view is found.
static void check(const TensorView &V, const TensorSpec &Spec) {
  mustHold(*V.Spec == Spec);
  mustHold(Spec.checkExtents(V.Extents).ok());
  Expected<size_t> Count = elementCount(V.Extents);
  mustHold(Count.ok());
  unsigned char Most = 0;
  for (unsigned char Byte : V.Data)
    Most = std::max(Most, Byte);
  if (Spec.isString()) {
    mustHold(checkStringTensor(V.Data, *Count).ok());
    return;
  }
  mustHold(V.Data.size() == *Count * sizeOf(Spec.type()));
  mustHold(reinterpret_cast<uintptr_t>(V.Data.data()) % 8 == 0);
  mustHold(Spec.type() != ElementType::Bool || Most <= 1);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  Expected<LogReader> Log = LogReader::over({Data, Size}, "log");
  if (!Log) {
    mustHold(Log.status().code() == StatusCode::Protocol ||
             Log.status().code() == StatusCode::Unavailable);
    return 0;
  }
  const Signature &Sig = Log->signature();
  for (;;) {
    Expected<const LogRecord *> R = Log->next();
    if (!R) {
      mustHold(R.status().code() == StatusCode::Protocol);
      mustHold(R.status().message().find("log, byte ") == 0);
      mustHold(!Log->next().ok()); // it stays failed
      return 0;
    }
    if (!*R)
      break;
    mustHold((*R)->Features.size() == Sig.inputs().size());
    mustHold((*R)->Decision.size() == Sig.outputs().size());
    for (size_t I = 0; I < Sig.inputs().size(); ++I)
      check((*R)->Features[I], Sig.inputs()[I]);
    for (size_t I = 0; I < Sig.outputs().size(); ++I)
      check((*R)->Decision[I], Sig.outputs()[I]);
  }
  Expected<const LogRecord *> After = Log->next();
  mustHold(After.ok() && !*After);
  return 0;
}
