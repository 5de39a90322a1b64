//===- LlvmLog.cpp - A training log, written again by LLVM ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// usage: llvm-log IN OUT
// Writes what IN holds to OUT by LLVM's own logger: the same bytes, or they are
// not LLVM's.
#include <cbridge/TrainingLog.h>

#include <llvm/Analysis/TensorSpec.h>
#include <llvm/Analysis/Utils/TrainingLogger.h>
#include <llvm/Support/raw_ostream.h>

using namespace llvm;

namespace {

llvm::TensorSpec toLLVM(const cbridge::TensorSpec &Spec) {
  std::vector<int64_t> Shape(Spec.shape().begin(), Spec.shape().end());
  switch (Spec.type()) {
  case cbridge::ElementType::Int64:
    return llvm::TensorSpec::createSpec<int64_t>(Spec.name(), Shape);
  case cbridge::ElementType::Float:
    return llvm::TensorSpec::createSpec<float>(Spec.name(), Shape);
  default:
    errs() << "llvm-log: " << Spec.name() << " is neither int64 nor float\n";
    exit(1);
  }
}

} // namespace

int main(int Count, char **Words) {
  if (Count != 3) {
    errs() << "usage: llvm-log IN OUT\n";
    return 2;
  }
  auto In = cbridge::LogReader::open(Words[1]);
  if (!In) {
    errs() << "llvm-log: " << In.status().message() << "\n";
    return 1;
  }
  std::error_code Error;
  auto Out = std::make_unique<raw_fd_ostream>(Words[2], Error);
  if (Error) {
    errs() << "llvm-log: " << Words[2] << ": " << Error.message() << "\n";
    return 1;
  }
  const cbridge::Signature &Sig = In->signature();
  std::vector<llvm::TensorSpec> Specs;
  for (const cbridge::TensorSpec &Spec : Sig.inputs())
    Specs.push_back(toLLVM(Spec));
  llvm::TensorSpec Advice = toLLVM(Sig.outputs().at(0));
  Specs.push_back(Advice);
  Logger Log(std::move(Out), Specs,
             llvm::TensorSpec::createSpec<float>("reward", {1}),
             /*IncludeReward=*/true, Advice);

  std::string Context;
  bool First = true;
  for (;;) {
    cbridge::Expected<const cbridge::LogRecord *> Next = In->next();
    if (!Next) {
      errs() << "llvm-log: " << Next.status().message() << "\n";
      return 1;
    }
    const cbridge::LogRecord *Record = *Next;
    if (!Record)
      return 0;
    if (std::exchange(First, false) || Context != Record->Context) {
      Context = Record->Context;
      Log.switchContext(Context);
    }
    Log.startObservation();
    size_t I = 0;
    for (const cbridge::TensorView &Tensor : Record->Features)
      Log.logTensorValue(I++,
                         reinterpret_cast<const char *>(Tensor.Data.data()));
    Log.logTensorValue(
        I, reinterpret_cast<const char *>(Record->Decision[0].Data.data()));
    Log.endObservation();
    Log.logReward(static_cast<float>(
        Record->Reward.value_or(std::numeric_limits<double>::quiet_NaN())));
  }
}
