//===- Kernels.h - The generator's kernels, as tests call them --*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pieces that `cbridge compile` pastes into models, compiled at each level
// as a generated file does it, behind plain functions.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_NATIVE_KERNELS_H
#define CBRIDGE_TESTS_NATIVE_KERNELS_H

#include "prologue.inc"

struct Function {
  const char *Name;
  int Arguments;
  // Out[i] = f(X[i], Y[i]); by vectors, whose count is a multiple of 8.
  void (*Vectors)(const float *X, const float *Y, float *Out, size_t Count);
  void (*Scalars)(const float *X, const float *Y, float *Out, size_t Count);
  void (*Doubles)(const double *X, const double *Y, double *Out, size_t Count);
};

struct Product {
  int64_t M, N, K;
  const float *A; // [M, K]; [K, M] if Turned
  const float *B; // [K, N]; [N, K] for Rows
  const float *Bias;
  float *C;
  bool Turned;
};

struct Sequence {
  int64_t Steps, Batch;
  const float *X, *W, *R, *Bias, *Peephole, *StartH, *StartC;
  const int32_t *Lengths;
  float *Y, *EndH, *EndC, *Scratch;
  bool Reverse, Flag; // Flag: InputForget, LinearBeforeReset
};
constexpr int64_t SequenceInput = 5, SequenceHidden = 13;

struct Kernels {
  const char *Name;
  const Function *Functions; // ends with a null name
  void (*Gemm)(const Product &);
  void (*GemmSigmoid)(const Product &);
  void (*GemmRows)(const Product &);
  void (*Lstm)(const Sequence &);
  void (*Gru)(const Sequence &);
  void (*Rnn)(const Sequence &);
};

#define CBRIDGE_LEVEL 1
namespace {
namespace baseline {
#include "Level.inc"
} // namespace baseline
} // namespace
#undef CBRIDGE_LEVEL

#define CBRIDGE_LEVEL 3
namespace {
namespace v3 {
#include "Level.inc"
} // namespace v3
} // namespace
#undef CBRIDGE_LEVEL

inline bool hasV3() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2");
#else
  return true;
#endif
}

#endif
