//===- NativeWeights.h - Weights in a file of their own ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_NATIVE_NATIVEWEIGHTS_H
#define CBRIDGE_ENGINE_NATIVE_NATIVEWEIGHTS_H

#include "engine/native/NativeTable.h"
#include "os/ReadFile.h"

namespace cbridge::native {

/// What a file as docs/formats/weights.md describes it holds.
class NativeWeights {
public:
  /// Fails if they are not for this model, or damaged. The message names the
  /// file and what differs.
  static Expected<NativeWeights> read(const std::string &File,
                                      const NativeTable &Of);
  /// Aligned to 64 bytes.
  const unsigned char *payload() const {
    return Content.bytes().data() + HeaderSize;
  }

  static constexpr size_t HeaderSize = 64;

private:
  explicit NativeWeights(os::FileContent Content)
      : Content(std::move(Content)) {}

  os::FileContent Content;
};

} // namespace cbridge::native

#endif // CBRIDGE_ENGINE_NATIVE_NATIVEWEIGHTS_H
