//===- ModelAdvisor.h - A model that answers LLVM's questions ---*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LLVM_INTERACTIVE_MODELADVISOR_H
#define CBRIDGE_LLVM_INTERACTIVE_MODELADVISOR_H

#include "InteractiveHost.h"

namespace cbridge {

/// Answers the questions of one channel by any runner, which is opened on the
/// signature that the first question has.
///
/// Once the model fails, all answers are legal defaults, and failure() says
/// why: what the compiler writes is right, but is not what anybody asked for.
/// An answer that is not legal is no failure; it is replaced and counted.
class ModelAdvisor {
public:
  /// Schemes, which outlives it, are those of the library by default.
  explicit ModelAdvisor(std::string RunnerString,
                        const Registry *Schemes = nullptr)
      : RunnerString(std::move(RunnerString)), Schemes(Schemes) {}

  /// The advice for Q, valid until the next call.
  Bytes answer(const InteractiveQuestion &Q);

  const Status &failure() const { return Failure; }
  uint64_t decisions() const { return Decisions; }
  uint64_t replaced() const { return Replaced; }
  /// The first answer that was not legal, and why.
  const Status &illegal() const { return Illegal; }
  /// Why decisions are not recorded (any more), although they were to be.
  const Status &notRecorded() const { return *NotRecorded; }

private:
  Status open(const Signature &Sig);
  Status ask(const InteractiveQuestion &Q);

  std::string RunnerString;
  const Registry *Schemes;
  std::optional<MLModelRunner> Runner;
  std::vector<unsigned char> Advice;
  Status Failure, Illegal;
  /// Where it stays, for the model that tells.
  std::shared_ptr<Status> NotRecorded = std::make_shared<Status>();
  uint64_t Decisions = 0, Replaced = 0;
};

} // namespace cbridge

#endif // CBRIDGE_LLVM_INTERACTIVE_MODELADVISOR_H
