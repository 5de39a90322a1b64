//===- OnnxEngine.h - A runner's tensors, bound to a session ----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_ONNXENGINE_H
#define CBRIDGE_ENGINE_ONNX_ONNXENGINE_H

#include "engine/onnx/OnnxModel.h"

#include <cbridge/Engine.h>

#include <array>

namespace cbridge::onnx {

/// A runner of a model: its features are memory of ours that is bound to the
/// session's inputs, once if it is fixed; so are fixed decisions.
class OnnxEngine : public BufferedEngine {
public:
  explicit OnnxEngine(std::shared_ptr<const OnnxModel> Of);
  /// Before anything else.
  Status prepare();

  Status resize(size_t I, Span<const int64_t> To) override;
  Status setStrings(size_t I, Span<const std::string_view> Values,
                    Span<const int64_t> To) override;
  TensorView output(size_t I) const override { return Views[I]; }
  Status run(const Call &) override;

private:
  static constexpr size_t NotBound = ~size_t(0);

  Status prepareTensors();
  bool isBound(size_t I) const;
  Expected<OrtOwned<OrtValue>> valueOver(const TensorView &V, size_t Rank);
  Expected<OrtOwned<OrtValue>> stringValue(const TensorView &V, size_t Rank);
  Status bindInput(size_t I);
  Status bindOutput(size_t I);
  /// Whether From are extents of Wanted, but for leading ones.
  static Status checkAligned(Span<const int64_t> From,
                             const TensorSpec &Wanted);
  void markStale(size_t Feature);
  Status fetchOutputs();
  Status take(size_t I, OrtOwned<OrtValue> Value);
  Status takeStrings(size_t I, const OrtValue &Value, Span<const int64_t> To,
                     size_t Count);

  std::shared_ptr<const OnnxModel> Model;
  const OrtLibrary &Ort;
  const OrtApi &Api;
  OrtAllocator *Allocator = nullptr; // ONNX Runtime's own, never freed
  OrtOwned<OrtIoBinding> Binding;
  OrtOwned<OrtRunOptions> RunOptions;
  std::vector<OrtOwned<OrtValue>> InputValues;  // by the graph's inputs
  std::vector<OrtOwned<OrtValue>> OutputValues; // by the pass's decisions
  std::vector<size_t> BoundTo; // of each feature: the graph's input
  std::vector<size_t> Stale;   // inputs of the graph to be bound again
  std::vector<std::array<int64_t, MaxRank>> Extents; // of dynamic decisions
  std::vector<TensorView> Views;                     // of decisions
  bool AnyDynamic = false;
};

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_ONNXENGINE_H
