//===- NativeEngine.h - An instance of a compiled model ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_NATIVE_NATIVEENGINE_H
#define CBRIDGE_ENGINE_NATIVE_NATIVEENGINE_H

#include "engine/SignatureFit.h"
#include "engine/native/NativeWeights.h"

#include <cbridge/Engine.h>

#include <array>

namespace cbridge::native {

/// A compiled model opened on the signature of a pass, for all its runners.
struct NativeModel {
  static constexpr size_t None = ~size_t(0);

  std::string Who; // what messages call it
  NativeTable Table;
  int Level;
  std::optional<NativeWeights> Weights; // instead of its own
  Signature Pass;
  SignatureFit Fit;
  /// Of each feature: the model's input that it fills, or None.
  std::vector<size_t> InputOf;

  /// Whether a feature of the pass can have these extents, which are written to
  /// Aligned as input I of the model has them.
  Status fitExtents(size_t I, Span<const int64_t> Extents,
                    Span<int64_t> Aligned) const;
};

/// A runner of it: an instance, whose own memory the pass fills.
class NativeEngine : public Engine {
public:
  explicit NativeEngine(std::shared_ptr<const NativeModel> Of);
  ~NativeEngine() override;
  NativeEngine(const NativeEngine &) = delete;
  NativeEngine &operator=(const NativeEngine &) = delete;
  /// Before anything else.
  Status prepare();

  MutableBytes input(size_t I) override { return Features[I].Lent; }
  Status resize(size_t I, Span<const int64_t> To) override;
  Status setStrings(size_t I, Span<const std::string_view> Values,
                    Span<const int64_t> To) override;
  TensorView output(size_t I) const override { return Views[I]; }
  Status run(const Call &) override;

private:
  using Extents = std::array<int64_t, MaxRank>;
  /// What the pass fills.
  struct Feature {
    MutableBytes Lent;
    Extents Aligned = {}; // as the model's input has them
    Status Wrong;         // why the model does not take its extents
    size_t Scratch = NativeModel::None;
    /// For extents that the model does not take, so that they can be filled.
    std::unique_ptr<TensorStorage> Misfit;
  };

  Status checkMemory() const;
  void setExtents(size_t I, Span<const int64_t> To);
  Status lendMisfit(size_t I, Span<const int64_t> To);
  Status setSymbols();
  Status fetchOutput(size_t I);

  const std::shared_ptr<const NativeModel> Of;
  void *Instance = nullptr;
  std::vector<Feature> Features;
  TensorStorage Scratch; // of features that the model does not know
  size_t WrongCount = 0;
  bool SymbolsStale = true;
  std::vector<int64_t> Symbols;
  std::vector<Extents> OutputExtents;
  std::vector<TensorView> Views; // of decisions
  std::vector<size_t> Varying;   // decisions whose extents vary
};

} // namespace cbridge::native

#endif // CBRIDGE_ENGINE_NATIVE_NATIVEENGINE_H
