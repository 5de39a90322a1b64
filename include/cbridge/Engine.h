//===- Engine.h - How a model is evaluated ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_H
#define CBRIDGE_ENGINE_H

#include <cbridge/Deadline.h>
#include <cbridge/Signature.h>
#include <cbridge/TensorStorage.h>

#include <memory>
#include <optional>
#include <string_view>

namespace cbridge {

/// What accompanies the features of one evaluation.
struct Call {
  Deadline Until = Deadline::never();
  /// What is being compiled: a function, a module. Empty if nobody said.
  std::string_view Context;
  /// How good the runner's previous decision turned out to be.
  std::optional<double> Reward;
  /// Of endEpisode: it was cut short, by a limit and not by its own end.
  bool Truncated = false;
};

/// How a model is evaluated: what an implementer of a new runner derives from.
///
/// Opened on one Signature and used by one thread. Inputs that are fixed never
/// move while it lives; a dynamic input is valid until its next resize, outputs
/// until the next run. Nothing here may throw, print or exit.
class Engine {
public:
  virtual ~Engine();
  /// Lends the bytes of input I for the caller to fill.
  virtual MutableBytes input(size_t I) = 0;
  /// Gives input I its extents; a no-op if it is fixed.
  virtual Status resize(size_t I, Span<const int64_t> Extents) = 0;
  /// Fills a string input.
  virtual Status setStrings(size_t I, Span<const std::string_view> Values,
                            Span<const int64_t> Extents) = 0;
  virtual TensorView output(size_t I) const = 0;
  /// Reads the inputs and fills the outputs. Leaves the inputs as they were. A
  /// failure for which Status::isTransport() holds closes the whole model.
  virtual Status run(const Call &C) = 0;
  /// The decisions so far belong together and are over; C.Reward is the last.
  virtual Status endEpisode(const Call &C);
};

/// An engine with ordinary memory for its tensors: derive and write run().
class BufferedEngine : public Engine {
public:
  explicit BufferedEngine(const Signature &Sig)
      : Inputs(Sig.inputs()), Outputs(Sig.outputs()) {}
  /// With the memory for its inputs.
  BufferedEngine(const Signature &Sig, TensorStorage Inputs)
      : Inputs(std::move(Inputs)), Outputs(Sig.outputs()) {}

  MutableBytes input(size_t I) override { return Inputs.bytes(I); }
  Status resize(size_t I, Span<const int64_t> Extents) override {
    return Inputs.resize(I, Extents);
  }
  Status setStrings(size_t I, Span<const std::string_view> Values,
                    Span<const int64_t> Extents) override {
    return Inputs.setStrings(I, Values, Extents);
  }
  TensorView output(size_t I) const override { return Outputs.view(I); }

  /// Why there is no memory for the tensors, if there is none.
  Status status() const {
    return Inputs.status().ok() ? Outputs.status() : Inputs.status();
  }

protected:
  TensorStorage Inputs, Outputs;
};

/// A BufferedEngine, or why there is no memory for it.
template <typename E, typename... Args>
Expected<std::unique_ptr<Engine>> makeEngine(Args &&...A) {
  auto Made = std::make_unique<E>(std::forward<Args>(A)...);
  if (Status S = Made->status(); !S)
    return S;
  return std::unique_ptr<Engine>(std::move(Made));
}

} // namespace cbridge

#endif // CBRIDGE_ENGINE_H
