//===- TensorText.h - Tensors for people ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LOG_TENSORTEXT_H
#define CBRIDGE_LOG_TENSORTEXT_H

#include <cbridge/TensorStorage.h>

namespace cbridge {

/// Element I: `12`, `0.5`, `true`, `"text"`.
std::string elementText(const TensorView &V, size_t I);
/// `12` for one element, else `[1, 2, 3, … 64 elements]` with at most Most.
std::string tensorText(const TensorView &V, size_t Most = 8);
/// How two tensors of one type differ first: `element 2 is 5, in the log 7`
/// where Other is "in the log". Empty if they do not. One NaN is as good as
/// another, but -0.0 is not 0.0.
std::string tensorDifference(const TensorView &A, const TensorView &B,
                             std::string_view Other);

} // namespace cbridge

#endif // CBRIDGE_LOG_TENSORTEXT_H
