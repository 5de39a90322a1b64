//===- Engine.cpp - How a model is evaluated ------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Engine.h>

namespace cbridge {

Engine::~Engine() = default;

Status Engine::endEpisode(const Call &) { return Status(); }

} // namespace cbridge
