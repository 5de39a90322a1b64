//===- NativeTable.h - What a compiled model says of itself -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_NATIVE_NATIVETABLE_H
#define CBRIDGE_ENGINE_NATIVE_NATIVETABLE_H

#include <cbridge/Signature.h>
#include <cbridge/module.h>

namespace cbridge::native {

/// A compiled model's table, of which everything that can be checked has been:
/// it may come from a file that somebody else has made.
class NativeTable {
public:
  /// Who: what messages call it.
  static Expected<NativeTable> read(const cbridge_native_model *Theirs,
                                    const std::string &Who);

  /// What it takes and gives; extents that vary are dynamic.
  const Signature &signature() const { return Own; }
  Span<const cbridge_native_port> inputs() const {
    return {C.inputs, C.input_count};
  }
  Span<const cbridge_native_port> outputs() const {
    return {C.outputs, C.output_count};
  }
  Span<const cbridge_native_symbol> symbols() const {
    return {C.symbols, C.symbol_count};
  }
  /// The names of instruction sets, by number, and the best of this machine.
  const std::vector<std::string> &levels() const { return Levels; }
  int bestLevel() const { return Best; }
  const cbridge_native_model *operator->() const { return &C; }

private:
  NativeTable() = default;
  Status checkModel() const;
  Status checkSymbols() const;
  Status readLevels();
  Status readPorts(bool Input, std::vector<TensorSpec> &To) const;
  Status checkInput(const cbridge_native_port &Port,
                    const TensorSpec &Spec) const;

  cbridge_native_model C = {};
  Signature Own;
  std::vector<std::string> Levels;
  int Best = 0;
};

} // namespace cbridge::native

#endif // CBRIDGE_ENGINE_NATIVE_NATIVETABLE_H
