//===- NativeTable.cpp - What a compiled model says of itself -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/native/NativeTable.h"

#include <algorithm>
#include <cstring>

namespace cbridge::native {

/// More than any model has, and little enough to add and multiply.
constexpr size_t MaxCount = size_t(1) << 16;
constexpr size_t MaxLevels = 64;
constexpr uint64_t MaxBytes = uint64_t(1) << 36;

static Status wrong(const std::string &What) {
  return Status::error(StatusCode::Protocol, "its table " + What);
}

Status NativeTable::checkModel() const {
  const char *Missing = !C.name          ? "name"
                        : !C.levels      ? "levels"
                        : !C.best_level  ? "best_level"
                        : !C.construct   ? "construct"
                        : !C.destroy     ? "destroy"
                        : !C.use_weights ? "use_weights"
                        : !C.evaluate    ? "evaluate"
                                         : nullptr;
  if (Missing)
    return wrong(std::string("has no '") + Missing + "'");
  size_t Alignment = C.instance_alignment;
  if (!C.instance_size || C.instance_size > MaxBytes || !Alignment ||
      Alignment > 4096 || (Alignment & (Alignment - 1)))
    return wrong("has instances of " + std::to_string(C.instance_size) +
                 " bytes, aligned to " + std::to_string(Alignment));
  if (C.weights_size > MaxBytes)
    return wrong("has weights of " + std::to_string(C.weights_size) + " bytes");
  return Status();
}

Status NativeTable::checkSymbols() const {
  if (C.symbol_count > MaxCount || (C.symbol_count && !C.symbols))
    return wrong("has " + std::to_string(C.symbol_count) + " symbols");
  for (const cbridge_native_symbol &Each : symbols())
    if (!Each.name || !Each.set || Each.maximum < 0)
      return wrong("has a symbol without name, maximum or function");
  return Status();
}

Status NativeTable::readLevels() {
  for (auto *Each = C.levels; *Each; ++Each) {
    if (Levels.size() == MaxLevels)
      return wrong("has too many levels");
    Levels.emplace_back(*Each);
  }
  Best = C.best_level();
  if (Best < 0 || size_t(Best) >= Levels.size())
    return wrong("has " + std::to_string(Levels.size()) +
                 " levels, of which number " + std::to_string(Best) +
                 " is the best");
  return Status();
}

/// There is memory for the largest extents that the symbols allow.
Status NativeTable::checkInput(const cbridge_native_port &Port,
                               const TensorSpec &Spec) const {
  std::vector<int64_t> Largest(Spec.shape().begin(), Spec.shape().end());
  for (size_t D = 0; D < Largest.size(); ++D) {
    int32_t Symbol = Port.symbols ? Port.symbols[D] : -1;
    bool Varies = Largest[D] == Dynamic;
    if (Varies != (Symbol >= 0) || Symbol >= int64_t(C.symbol_count))
      return wrong("has no symbol for an extent of '" + Spec.name() + "'");
    if (Varies)
      Largest[D] = C.symbols[Symbol].maximum;
  }
  Expected<size_t> Count = elementCount(Largest);
  if (!Count || *Count > Port.capacity)
    return wrong("has no memory for all of '" + Spec.name() + "'");
  return Status();
}

Status NativeTable::readPorts(bool Input, std::vector<TensorSpec> &To) const {
  Span<const cbridge_native_port> Ports = Input ? inputs() : outputs();
  if (Ports.size() > MaxCount || (!Ports.empty() && !Ports.data()))
    return wrong("has " + std::to_string(Ports.size()) + " tensors");
  for (const cbridge_native_port &Each : Ports) {
    const cbridge_spec &S = Each.spec;
    if (!S.name.data || S.name.size > MaxCount || S.type < 0 ||
        S.type >= CBRIDGE_STRING || S.rank > MaxRank || (S.rank && !S.shape) ||
        !Each.data)
      return wrong("has a tensor of no known name, type or shape");
    TensorSpec Spec(std::string(S.name.data, S.name.size), ElementType(S.type),
                    std::vector<int64_t>(S.shape, S.shape + S.rank));
    if (Status Bad = Spec.validate(); !Bad)
      return Bad;
    if (Input) {
      if (Status Bad = checkInput(Each, Spec); !Bad)
        return Bad;
    } else if (Spec.isFixed() ? Spec.elementCount() > Each.capacity
                              : !Each.extents)
      return wrong("has no memory or extents for all of '" + Spec.name() + "'");
    To.push_back(std::move(Spec));
  }
  return Status();
}

Expected<NativeTable> NativeTable::read(const cbridge_native_model *Theirs,
                                        const std::string &Who) {
  NativeTable T;
  std::vector<TensorSpec> Inputs, Outputs;
  Status S;
  // What follows the last member that this library knows is newer than it.
  if (!Theirs || Theirs->size < sizeof(T.C))
    S = wrong("is too small: it is not of this version");
  else
    std::memcpy(&T.C, Theirs, sizeof(T.C));
  if (S.ok())
    S = T.checkModel();
  if (S.ok())
    S = T.checkSymbols();
  if (S.ok())
    S = T.readLevels();
  if (S.ok())
    S = T.readPorts(/*Input=*/true, Inputs);
  if (S.ok())
    S = T.readPorts(/*Input=*/false, Outputs);
  T.Own = Signature(std::move(Inputs), std::move(Outputs));
  if (S.ok())
    S = T.Own.validate();
  if (!S.ok())
    return Status::error(StatusCode::Unsupported, Who + ": " + S.message());
  return T;
}

} // namespace cbridge::native
