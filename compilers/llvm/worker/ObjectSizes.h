//===- ObjectSizes.h - How large what was compiled is -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_WORKER_OBJECTSIZES_H
#define CBRIDGE_WORKER_OBJECTSIZES_H

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

namespace cbridge::worker {

/// In bytes, as `cbridge score` counts them: Text is code, Total all that is
/// loaded from the file.
struct ObjectSizes {
  uint64_t Text = 0, Total = 0;
  llvm::json::Object Functions; ///< name to size

  static llvm::Expected<ObjectSizes> of(llvm::MemoryBufferRef File);
};

} // namespace cbridge::worker

#endif // CBRIDGE_WORKER_OBJECTSIZES_H
