//===- SequenceTest.cpp - Tests of LSTM, GRU and RNN ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against ONNX's formulas, one element at a time and in double precision.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Samples.h"
#include "Sequences.h"

#include <cmath>

#include <gtest/gtest.h>

namespace {

constexpr int64_t In = SequenceInput, H = SequenceHidden;
using State = std::vector<double>;

double sigmoid(double X) { return 1 / (1 + std::exp(-X)); }

/// X W + H R + bias, of a gate's element.
struct Gates {
  const Sequence &S;
  int64_t Count, T, B;
  double input(int64_t Gate, int64_t I) const {
    double Sum = S.Bias[Gate * H + I];
    for (int64_t K = 0; K < In; ++K)
      Sum += double(S.X[(T * S.Batch + B) * In + K]) *
             double(S.W[(K * Count + Gate) * H + I]);
    return Sum;
  }
  double state(int64_t Gate, int64_t I, const State &Of) const {
    double Sum = 0;
    for (int64_t K = 0; K < H; ++K)
      Sum += Of[size_t(K)] * double(S.R[(K * Count + Gate) * H + I]);
    return Sum;
  }
};

void lstmStep(const Gates &G, State &Hidden, State &Cell) {
  State Before = Hidden;
  for (int64_t I = 0; I < H; ++I) {
    const float *P = G.S.Peephole;
    auto Gate = [&](int64_t Which) {
      return G.input(Which, I) + G.state(Which, I, Before);
    };
    double &C = Cell[size_t(I)];
    double Input = sigmoid(Gate(0) + (P ? double(P[I]) * C : 0));
    double Forget = sigmoid(Gate(2) + (P ? double(P[2 * H + I]) * C : 0));
    C = (G.S.Flag ? 1 - Input : Forget) * C + Input * std::tanh(Gate(3));
    double Output = sigmoid(Gate(1) + (P ? double(P[H + I]) * C : 0));
    Hidden[size_t(I)] = Output * std::tanh(C);
  }
}

double hardSigmoid(double X) {
  return std::fmin(1, std::fmax(0, 0.2f * X + 0.5f));
}
double elu(double X) { return X < 0 ? 0.7f * std::expm1(X) : X; }

void gruStep(const Gates &G, State &Hidden, State &) {
  State Before = Hidden, Reset = Hidden;
  for (int64_t I = 0; I < H; ++I)
    Reset[size_t(I)] =
        hardSigmoid(G.input(1, I) + G.state(1, I, Before)) * Before[size_t(I)];
  for (int64_t I = 0; I < H; ++I) {
    double Update = hardSigmoid(G.input(0, I) + G.state(0, I, Before));
    double Late = G.state(2, I, Reset);
    if (G.S.Flag)
      Late = hardSigmoid(G.input(1, I) + G.state(1, I, Before)) *
             G.state(2, I, Before);
    double New = elu(G.input(2, I) + Late);
    Hidden[size_t(I)] = (1 - Update) * New + Update * Before[size_t(I)];
  }
}

void rnnStep(const Gates &G, State &Hidden, State &) {
  State Before = Hidden;
  for (int64_t I = 0; I < H; ++I) {
    double Sum = G.input(0, I) + G.state(0, I, Before);
    Hidden[size_t(I)] = Sum / (1 + std::fabs(Sum));
  }
}

void check(void (*Step)(const Gates &, State &, State &), int64_t Count,
           const Sequence &S) {
  for (int64_t B = 0; B < S.Batch; ++B) {
    State Hidden(H), Cell(H);
    for (int64_t I = 0; I < H; ++I) {
      Hidden[size_t(I)] = S.StartH ? double(S.StartH[B * H + I]) : 0;
      Cell[size_t(I)] = S.StartC ? double(S.StartC[B * H + I]) : 0;
    }
    int64_t Length = S.Lengths ? S.Lengths[B] : S.Steps;
    for (int64_t I = 0; I < Length; ++I) {
      int64_t T = S.Reverse ? Length - 1 - I : I;
      Step(Gates{S, Count, T, B}, Hidden, Cell);
      for (int64_t J = 0; J < H; ++J)
        ASSERT_NEAR(S.Y[(T * S.Batch + B) * H + J], Hidden[size_t(J)], 1e-5);
    }
    for (int64_t T = Length; T < S.Steps; ++T)
      EXPECT_EQ(S.Y[(T * S.Batch + B) * H], 0);
    for (int64_t J = 0; J < H; ++J)
      ASSERT_NEAR(S.EndH[B * H + J], Hidden[size_t(J)], 1e-5);
  }
}

TEST(Sequences, FollowTheFormulas) {
  forSequences([](Sequences &X) {
    const Kernels &K = baseline::All;
    X.run(K.Lstm);
    check(lstmStep, 4, X.S);
    X.run(K.Gru);
    check(gruStep, 3, X.S);
    X.run(K.Rnn);
    check(rnnStep, 1, X.S);
  });
}

TEST(Sequences, HaveTheSameBitsAtBothLevels) {
  if (!hasV3())
    GTEST_SKIP() << "this machine has the baseline only";
  forSequences([](Sequences &X) {
    const Kernels &K = baseline::All, &L = v3::All;
    EXPECT_EQ(X.run(K.Lstm), X.run(L.Lstm));
    EXPECT_EQ(X.run(K.Gru), X.run(L.Gru));
    EXPECT_EQ(X.run(K.Rnn), X.run(L.Rnn));
  });
}

} // namespace
