//===- Digest.cpp - A digest of what the kernels compute ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints a number per kernel, which must be the same for every compiler,
// optimization and machine: digest.sh compares them. Without GoogleTest, so
// that a cross compiler needs nothing else.
//
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Samples.h"
#include "Sequences.h"

#include <cinttypes>
#include <cstdio>

namespace {

/// FNV-1a.
class Digest {
public:
  /// All that are not a number are alike.
  template <class T> void add(const std::vector<T> &Values) {
    for (T Each : Values) {
      if (Each != Each)
        Each = std::numeric_limits<T>::quiet_NaN();
      unsigned char Bytes[sizeof(T)];
      std::memcpy(Bytes, &Each, sizeof(T));
      if (Each != Each)
        std::memset(Bytes, 0xff, sizeof(T));
      for (unsigned char Byte : Bytes)
        State = (State ^ Byte) * 0x100000001b3u;
    }
  }
  uint64_t value() const { return State; }

private:
  uint64_t State = 0xcbf29ce484222325u;
};

constexpr size_t Count = 1 << 15;

void print(const Kernels &K, const char *What, const Digest &D, bool Quiet,
           uint64_t &All) {
  if (!Quiet)
    std::printf("%s %s %016" PRIx64 "\n", K.Name, What, D.value());
  All = (All ^ D.value()) * 0x100000001b3u;
}

Digest ofFunction(const Function &F) {
  Random Source;
  Digest D;
  std::vector<float> X = samples<float>(Source, Count), Y = X, Out(Count);
  for (size_t I = 0; I < Count; ++I)
    Y[I] = X[(I * 7 + 1) % Count];
  F.Vectors(X.data(), Y.data(), Out.data(), Count);
  D.add(Out);
  F.Scalars(X.data(), Y.data(), Out.data(), Count);
  D.add(Out);
  std::vector<double> P = samples<double>(Source, Count), Q = P, R = P;
  for (size_t I = 0; I < Count; ++I)
    Q[I] = P[(I * 7 + 1) % Count];
  F.Doubles(P.data(), Q.data(), R.data(), Count);
  D.add(R);
  return D;
}

Digest ofProducts(void (*Gemm)(const Product &)) {
  Random Source;
  Digest D;
  for (int64_t M : {1, 3, 6, 17}) {
    for (int64_t N : {1, 5, 8, 13, 16, 21, 64, 75}) {
      for (int64_t K : {1, 7, 64, 101}) {
        std::vector<float> A = Source.floats(M * K), B = Source.floats(K * N);
        std::vector<float> Bias = Source.floats(N), C(size_t(M * N));
        Gemm({M, N, K, A.data(), B.data(), Bias.data(), C.data(), false});
        D.add(C);
      }
    }
  }
  return D;
}

Digest ofSequences(void (*Kernel)(const Sequence &)) {
  Digest D;
  forSequences([&](Sequences &X) { D.add(X.run(Kernel)); });
  return D;
}

uint64_t ofAll(const Kernels &K, bool Quiet) {
  uint64_t All = 0xcbf29ce484222325u;
  for (const Function *F = K.Functions; F->Name; ++F)
    print(K, F->Name, ofFunction(*F), Quiet, All);
  print(K, "gemm", ofProducts(K.Gemm), Quiet, All);
  print(K, "gemm+sigmoid", ofProducts(K.GemmSigmoid), Quiet, All);
  print(K, "gemmRows", ofProducts(K.GemmRows), Quiet, All);
  print(K, "lstm", ofSequences(K.Lstm), Quiet, All);
  print(K, "gru", ofSequences(K.Gru), Quiet, All);
  print(K, "rnn", ofSequences(K.Rnn), Quiet, All);
  return All;
}

} // namespace

int main(int Argc, char **) {
  bool Quiet = Argc < 2; // with an argument: of each kernel
  std::printf("%016" PRIx64 "\n", ofAll(baseline::All, Quiet));
  if (hasV3())
    std::printf("%016" PRIx64 "\n", ofAll(v3::All, Quiet));
  return 0;
}
