//===- Native.h - Models that cbridge compile has made ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_NATIVE_NATIVE_H
#define CBRIDGE_ENGINE_NATIVE_NATIVE_H

#include <cbridge/Registry.h>
#include <cbridge/module.h>

namespace cbridge {

/// Options of `native:`.
inline constexpr std::string_view NativeKeys[] = {"weights", "level"};

/// Those that are linked into this program or plugin: what cbridge_add_model
/// has listed there.
std::vector<const cbridge_native_model *> linkedModels();
/// The one of that name; fails with a message that lists the others.
Expected<const cbridge_native_model *> linkedModel(const std::string &Name);
/// "'Mlp', 'Ranker'", or "none".
std::string listed(Span<const cbridge_native_model *const> Models);

/// Opens a compiled model with the options of R. Who: what messages call it.
Expected<EngineSource> openNative(const cbridge_native_model *Model,
                                  const std::string &Who, const RunnerString &R,
                                  const Signature &Sig);
Expected<Signature> describeNative(const cbridge_native_model *Model,
                                   const std::string &Who);

} // namespace cbridge

#endif // CBRIDGE_ENGINE_NATIVE_NATIVE_H
