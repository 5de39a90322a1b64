//===- Signature.h - What a pass sends and what it asks for -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_SIGNATURE_H
#define CBRIDGE_SIGNATURE_H

#include <cbridge/TensorSpec.h>

#include <optional>

namespace cbridge {

/// The ordered specs of the features a pass fills and of the decision it wants
/// back. A value: copies freely.
class Signature {
public:
  Signature() = default;
  Signature(std::vector<TensorSpec> Inputs, std::vector<TensorSpec> Outputs)
      : Inputs(std::move(Inputs)), Outputs(std::move(Outputs)) {}
  Signature(std::vector<TensorSpec> Inputs, TensorSpec Decision)
      : Inputs(std::move(Inputs)) {
    Outputs.push_back(std::move(Decision));
  }

  const std::vector<TensorSpec> &inputs() const { return Inputs; }
  const std::vector<TensorSpec> &outputs() const { return Outputs; }
  std::optional<size_t> inputIndex(std::string_view Name) const;
  std::optional<size_t> outputIndex(std::string_view Name) const;

  /// Every spec is valid, names are unique per side, and there is a decision.
  Status validate() const;
  /// Identifies names, types, shapes and order on both sides. For comparing
  /// layouts quickly; whether two sides fit is checked by name.
  uint64_t fingerprint() const;

  bool operator==(const Signature &Other) const {
    return Inputs == Other.Inputs && Outputs == Other.Outputs;
  }
  bool operator!=(const Signature &Other) const { return !(*this == Other); }

private:
  std::vector<TensorSpec> Inputs, Outputs;
};

} // namespace cbridge

#endif // CBRIDGE_SIGNATURE_H
