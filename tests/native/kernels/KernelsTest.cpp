//===- KernelsTest.cpp - Tests of the generator's kernels -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Samples.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

constexpr size_t Many = 1 << 20;

size_t countOf(const Kernels &K) {
  size_t Count = 0;
  while (K.Functions[Count].Name)
    ++Count;
  return Count;
}

/// Bits, with all that are not a number alike: which one comes out is the
/// machine's choice.
template <class T> uint64_t bitsOf(T X) {
  uint64_t Bits = 0;
  if (X == X)
    std::memcpy(&Bits, &X, sizeof(X));
  return X == X ? Bits : ~uint64_t(0);
}

template <class T>
void expectSame(const char *Name, const std::vector<T> &X,
                const std::vector<T> &A, const std::vector<T> &B) {
  size_t Different = 0, First = 0;
  for (size_t I = 0; I < A.size(); ++I) {
    if (bitsOf(A[I]) != bitsOf(B[I]) && !Different++)
      First = I;
  }
  EXPECT_EQ(Different, 0u) << Name << "(" << X[First] << ") is " << A[First]
                           << " or " << B[First];
}

class EachFunction : public testing::TestWithParam<size_t> {
protected:
  const Function &at(const Kernels &K) const { return K.Functions[GetParam()]; }
};

TEST_P(EachFunction, HasTheSameBitsAtBothLevelsAndForOneElement) {
  if (!hasV3())
    GTEST_SKIP() << "this machine has the baseline only";
  Random Source;
  std::vector<float> X = samples<float>(Source, Many);
  std::vector<float> Y = samples<float>(Source, Many + 1), A(Many), B(Many);
  Y.erase(Y.begin()); // another pairing
  const Function &F = at(baseline::All), &G = at(v3::All);
  F.Vectors(X.data(), Y.data(), A.data(), Many);
  G.Vectors(X.data(), Y.data(), B.data(), Many);
  expectSame(F.Name, X, A, B);
  F.Scalars(X.data(), Y.data(), B.data(), Many);
  expectSame(F.Name, X, A, B);
  G.Scalars(X.data(), Y.data(), B.data(), Many);
  expectSame(F.Name, X, A, B);
}

TEST_P(EachFunction, HasTheSameBitsForDoubles) {
  if (!hasV3())
    GTEST_SKIP() << "this machine has the baseline only";
  Random Source;
  std::vector<double> X = samples<double>(Source, Many);
  std::vector<double> Y = samples<double>(Source, Many + 1), A(Many), B(Many);
  Y.erase(Y.begin());
  const Function &F = at(baseline::All);
  F.Doubles(X.data(), Y.data(), A.data(), Many);
  at(v3::All).Doubles(X.data(), Y.data(), B.data(), Many);
  expectSame(F.Name, X, A, B);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EachFunction,
                         testing::Range<size_t>(0, countOf(baseline::All)),
                         [](const testing::TestParamInfo<size_t> &Info) {
                           return std::string(
                               baseline::All.Functions[Info.param].Name);
                         });

// Accuracy: by the next larger type of the C library.

using Wide = long double;

struct Exact {
  const char *Name;
  Wide (*Of)(Wide X, Wide Y);
  double FloatUlps, DoubleUlps;
};

const Exact Functions[] = {
    {"expOf", [](Wide X, Wide) { return std::exp(X); }, 1, 1.01},
    {"logOf", [](Wide X, Wide) { return std::log(X); }, 1, 1},
    {"tanhOf", [](Wide X, Wide) { return std::tanh(X); }, 2, 3},
    {"sigmoidOf",
     [](Wide X, Wide) {
       return X < 0 ? std::exp(X) / (1 + std::exp(X)) : 1 / (1 + std::exp(-X));
     },
     2, 3},
    {"softplusOf",
     [](Wide X, Wide) {
       return X > 0 ? X + std::log1p(std::exp(-X)) : std::log1p(std::exp(X));
     },
     2, 3},
    {"erfOf", [](Wide X, Wide) { return std::erf(X); }, 4, 4},
    {"sqrtOf", [](Wide X, Wide) { return std::sqrt(X); }, 0.5, 0.5},
    {"absOf", [](Wide X, Wide) { return std::fabs(X); }, 0, 0},
    {"floorOf", [](Wide X, Wide) { return std::floor(X); }, 0, 0},
    {"ceilOf", [](Wide X, Wide) { return std::ceil(X); }, 0, 0},
    {"roundOf", [](Wide X, Wide) { return std::nearbyint(X); }, 0, 0},
    {"signOf", [](Wide X, Wide) { return X > 0   ? 1
                                         : X < 0 ? -1
                                                 : X; }, 0, 0},
    {"reciprocalOf", [](Wide X, Wide) { return 1 / X; }, 0.5, 0.5},
    {"reluOf", [](Wide X, Wide) { return X < 0 ? 0 : X; }, 0, 0},
    {"powOf", [](Wide X, Wide Y) { return std::pow(X, Y); }, 1, 4},
    {"minOf",
     [](Wide X, Wide Y) { return X != X || Y != Y ? X + Y : std::fmin(X, Y); },
     0, 0},
    {"maxOf",
     [](Wide X, Wide Y) { return X != X || Y != Y ? X + Y : std::fmax(X, Y); },
     0, 0},
};

template <class T> double ulpsBetween(T Got, Wide Wanted) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(Got) || std::isnan(Wanted))
    return std::isnan(Got) && std::isnan(Wanted) ? 0 : HUGE_VAL;
  if (Got == static_cast<T>(Wanted))
    return 0;
  if (std::isinf(Got)) // but not by more than rounding
    return std::fabs(Wanted) > Limits::max() * Wide(0.9999999) ? 1 : HUGE_VAL;
  int Exponent;
  std::frexp(Wanted, &Exponent);
  Exponent = std::max(Exponent, Limits::min_exponent);
  return static_cast<double>(std::fabs(Got - Wanted) /
                             std::ldexp(Wide(1), Exponent - Limits::digits));
}

const Function *find(const char *Name) {
  const Function *F = baseline::All.Functions;
  while (F->Name && std::string(F->Name) != Name)
    ++F;
  return F;
}

template <class T, class Run>
void expectAccurate(const Exact &E, double Limit, const Run &Do) {
  Random Source;
  std::vector<T> X = samples<T>(Source, Many / 4), Out(X.size());
  std::vector<T> Y = samples<T>(Source, X.size() + 1);
  Y.erase(Y.begin());
  Do(X.data(), Y.data(), Out.data(), X.size());
  double Worst = 0;
  size_t At = 0;
  for (size_t I = 0; I < X.size(); ++I) {
    double Ulps = ulpsBetween(Out[I], E.Of(X[I], Y[I]));
    if (Ulps > Worst) {
      Worst = Ulps;
      At = I;
    }
  }
  EXPECT_LE(Worst, Limit) << E.Name << "(" << X[At] << ", " << Y[At] << ") is "
                          << Out[At];
}

class Accuracy : public testing::TestWithParam<Exact> {};

TEST_P(Accuracy, IsAsPromised) {
  const Exact &E = GetParam();
  const Function *F = find(E.Name);
  ASSERT_TRUE(F->Name) << E.Name;
  expectAccurate<float>(E, E.FloatUlps, F->Vectors);
  expectAccurate<double>(E, E.DoubleUlps, F->Doubles);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Accuracy, testing::ValuesIn(Functions),
                         [](const testing::TestParamInfo<Exact> &Info) {
                           return std::string(Info.param.Name);
                         });

TEST(Kernels, PowIsAsInC) {
  const double Values[] = {0.,       -0.,       1.,       -1.,     2.,
                           -2.,      3.,        -3.,      0.5,     -0.5,
                           HUGE_VAL, -HUGE_VAL, NAN,      1e-40,   1e30,
                           -1e30,    16777217., 0.999999, 1.000001};
  for (double X : Values) {
    for (double Y : Values) {
      double Wide, Exactly = std::pow(X, Y);
      find("powOf")->Doubles(&X, &Y, &Wide, 1);
      EXPECT_LE(ulpsBetween(Wide, Exactly), 4) << X << "^" << Y;
      EXPECT_TRUE(Wide != Wide || std::signbit(Wide) == std::signbit(Exactly))
          << X << "^" << Y;
      float A = static_cast<float>(X), B = static_cast<float>(Y), Narrow;
      find("powOf")->Scalars(&A, &B, &Narrow, 1);
      float Rounded = std::pow(A, B);
      EXPECT_LE(ulpsBetween(Narrow, Rounded), 1) << A << "^" << B;
      EXPECT_TRUE(Narrow != Narrow ||
                  std::signbit(Narrow) == std::signbit(Rounded))
          << A << "^" << B;
    }
  }
}

// Products.

struct Matrices {
  std::vector<float> A, B, Turned, Bias, C;
  Product P;
  Matrices(Random &Source, int64_t M, int64_t N, int64_t K, bool Flip)
      : A(Source.floats(M * K + 1)), B(Source.floats(K * N + 1)),
        Turned(B.size()), Bias(Source.floats(N + 1)), C(size_t(M * N + 1), 7),
        P{M,        N,   K, A.data(), B.data(), Flip ? Bias.data() : nullptr,
          C.data(), Flip} {
    for (int64_t I = 0; I < K; ++I) {
      for (int64_t J = 0; J < N; ++J)
        Turned[size_t(J * K + I)] = B[size_t(I * N + J)];
    }
  }
  double wanted(int64_t I, int64_t J) const {
    double Sum = P.Bias ? double(P.Bias[J]) : 0;
    for (int64_t At = 0; At < P.K; ++At) {
      float X = P.Turned ? P.A[At * P.M + I] : P.A[I * P.K + At];
      Sum += double(X) * double(P.B[At * P.N + J]);
    }
    return Sum;
  }
};

void expectProduct(const Matrices &X) {
  const Product &P = X.P;
  EXPECT_EQ(P.C[P.M * P.N], 7) << "written beyond the end";
  for (int64_t I = 0; I < P.M; ++I) {
    for (int64_t J = 0; J < P.N; ++J)
      ASSERT_NEAR(P.C[I * P.N + J], X.wanted(I, J), 1e-5 * (1 + double(P.K)))
          << P.M << "x" << P.N << "x" << P.K << " at " << I << "," << J;
  }
}

template <class Test> void forShapes(const Test &Do) {
  Random Source;
  for (int64_t M : {0, 1, 2, 3, 4, 5, 7, 12, 33}) {
    for (int64_t N :
         {0, 1, 3, 4, 7, 8, 9, 12, 15, 16, 17, 31, 33, 40, 65, 100}) {
      for (int64_t K : {0, 1, 2, 3, 5, 7, 31, 33, 65}) {
        for (bool Flip : {false, true})
          Do(Matrices(Source, M, N, K, Flip));
      }
    }
  }
}

TEST(Kernels, GemmMultiplies) {
  forShapes([](const Matrices &X) {
    baseline::All.Gemm(X.P);
    expectProduct(X);
    std::vector<float> First = X.C;
    if (!hasV3())
      return;
    v3::All.Gemm(X.P);
    ASSERT_EQ(First, X.C) << X.P.M << "x" << X.P.N << "x" << X.P.K;
    v3::All.GemmSigmoid(X.P);
    First = X.C;
    baseline::All.GemmSigmoid(X.P);
    ASSERT_EQ(First, X.C) << X.P.M << "x" << X.P.N << "x" << X.P.K;
  });
}

TEST(Kernels, GemmRowsMultiplies) {
  forShapes([](Matrices X) {
    Product Other = X.P;
    X.P.A = Other.A = X.A.data();
    X.P.B = X.B.data();
    X.P.C = Other.C = X.C.data();
    X.P.Bias = Other.Bias = X.P.Bias ? X.Bias.data() : nullptr;
    X.P.Turned = false;
    Other.B = X.Turned.data();
    baseline::All.GemmRows(Other);
    expectProduct(X);
    std::vector<float> First = X.C;
    if (!hasV3())
      return;
    v3::All.GemmRows(Other);
    ASSERT_EQ(First, X.C) << X.P.M << "x" << X.P.N << "x" << X.P.K;
  });
}

/// An element's sum has one order, whatever is computed next to it.
TEST(Kernels, ARowDoesNotDependOnOthers) {
  Random Source;
  for (int64_t N : {8, 16, 17, 40, 65}) {
    Matrices X(Source, 13, N, 33, false);
    baseline::All.Gemm(X.P);
    std::vector<float> All = X.C, One(static_cast<size_t>(N) + 1);
    for (int64_t I = 0; I < X.P.M; ++I) {
      Product P = X.P;
      P.M = 1;
      P.A += I * P.K;
      P.C = One.data();
      baseline::All.Gemm(P);
      ASSERT_EQ(0, std::memcmp(One.data(), All.data() + I * N, size_t(N) * 4));
    }
  }
}

} // namespace
