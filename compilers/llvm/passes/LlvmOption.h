//===- LlvmOption.h - What LLVM was told ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PASSES_LLVMOPTION_H
#define CBRIDGE_PASSES_LLVMOPTION_H

#include <llvm/Support/CommandLine.h>

namespace cbridge::passes {

/// The value of an option of LLVM's that its headers do not show, and which
/// must be of type T.
template <typename T> T optionOr(llvm::StringRef Name, T Missing) {
  auto &Options = llvm::cl::getRegisteredOptions();
  auto Found = Options.find(Name);
  if (Found == Options.end())
    return Missing;
  return *static_cast<llvm::cl::opt<T> *>(Found->second);
}

} // namespace cbridge::passes

#endif // CBRIDGE_PASSES_LLVMOPTION_H
