//===- NativeTest.h - What tests of native: share ---------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_NATIVE_NATIVETEST_H
#define CBRIDGE_ENGINE_NATIVE_NATIVETEST_H

#include <cbridge/Status.h>
#include <cbridge/module.h>

#include <gtest/gtest.h>

// Of tests/native/fixture.
extern "C" {
extern const cbridge_native_model cbridge_model_cbridge_models_Affine;
extern const cbridge_native_model cbridge_model_cbridge_models_Rows;
}

/// Fails a test unless S says this.
#define EXPECT_SAYS(S, Text) expectSays(__LINE__, S, Text)
inline void expectSays(int Line, const cbridge::Status &S,
                       const std::string &Text) {
  EXPECT_NE(S.message().find(Text), std::string::npos)
      << "in line " << Line << ": expected " << Text << " in: " << S.toString();
}

#endif // CBRIDGE_ENGINE_NATIVE_NATIVETEST_H
