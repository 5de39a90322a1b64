//===- Sequences.h - Cases of LSTM, GRU and RNN -----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_NATIVE_SEQUENCES_H
#define CBRIDGE_TESTS_NATIVE_SEQUENCES_H

#include "Kernels.h"
#include "Samples.h"

#include <vector>

/// Operands of one case, and memory for its results.
struct Sequences {
  static constexpr int64_t Steps = 4, Batch = 3;
  std::vector<float> X, W, R, Bias, Peephole, StartH, StartC;
  std::vector<int32_t> Lengths = {2, 4, 0};
  std::vector<float> Y, EndH, EndC, Scratch;
  Sequence S;

  Sequences(Random &Source, bool Reverse, bool Flag, bool Options)
      : X(Source.floats(Steps * Batch * SequenceInput)),
        W(Source.floats(SequenceInput * 4 * SequenceHidden)),
        R(Source.floats(SequenceHidden * 4 * SequenceHidden)),
        Bias(Source.floats(4 * SequenceHidden)),
        Peephole(Source.floats(3 * SequenceHidden)),
        StartH(Source.floats(Batch * SequenceHidden)),
        StartC(Source.floats(Batch * SequenceHidden)),
        Y(size_t(Steps * Batch * SequenceHidden)),
        EndH(size_t(Batch * SequenceHidden)), EndC(EndH.size()),
        Scratch(size_t((Steps * 4 + 3) * Batch * SequenceHidden)), S() {
    S = {Steps,
         Batch,
         X.data(),
         W.data(),
         R.data(),
         Bias.data(),
         Options ? Peephole.data() : nullptr,
         Options ? StartH.data() : nullptr,
         Options ? StartC.data() : nullptr,
         Options ? Lengths.data() : nullptr,
         Y.data(),
         EndH.data(),
         EndC.data(),
         Scratch.data(),
         Reverse,
         Flag};
  }
  Sequences(const Sequences &) = delete;

  /// All its results.
  std::vector<float> run(void (*Kernel)(const Sequence &)) {
    Kernel(S);
    std::vector<float> All = Y;
    All.insert(All.end(), EndH.begin(), EndH.end());
    All.insert(All.end(), EndC.begin(), EndC.end());
    return All;
  }
};

template <class Test> void forSequences(const Test &Do) {
  Random Source;
  for (int Case = 0; Case < 8; ++Case) {
    Sequences X(Source, Case & 1, Case & 2, Case & 4);
    Do(X);
  }
}

#endif
