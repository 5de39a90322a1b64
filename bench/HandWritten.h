//===- HandWritten.h - A benchmark's models as code by hand -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What somebody would write who has one model to make fast, for exactly its
// sizes: AVX2 without FMA, so that results do not depend on the machine. The
// yardstick of what `cbridge compile` makes.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_HANDWRITTEN_H
#define CBRIDGE_BENCH_HANDWRITTEN_H

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#if defined(__x86_64__)
#include <immintrin.h>
#define CBRIDGE_BENCH_HAND
#endif

namespace bench {

/// A model with memory of its own: a thread's.
class HandWritten {
public:
  virtual ~HandWritten() = default;
  virtual float *input() = 0;
  virtual const float *run() = 0;
  virtual size_t outputs() const = 0;
};

#ifdef CBRIDGE_BENCH_HAND
#define CBRIDGE_AVX2 __attribute__((target("avx2")))

/// weights.bin of _infer_models.py: all of them, one after the other.
inline void readWeights(const std::string &Folder, float *To, size_t Count) {
  std::ifstream File(Folder + "/weights.bin", std::ios::binary);
  File.read(reinterpret_cast<char *>(To),
            static_cast<std::streamsize>(Count * sizeof(float)));
  if (!File || File.peek() != EOF) {
    std::fprintf(stderr, "%s/weights.bin: not %zu floats\n", Folder.c_str(),
                 Count);
    std::exit(1);
  }
}

/// 64-64-64-8 with ReLU. A layer's 64 sums are in eight registers.
class HandMlp final : public HandWritten {
public:
  explicit HandMlp(const std::string &Folder) {
    readWeights(Folder, reinterpret_cast<float *>(&W), 2 * 65 * 64 + 65 * 8);
  }
  float *input() override { return X; }
  size_t outputs() const override { return 8; }
  CBRIDGE_AVX2 const float *run() override {
    wide(X, W.W0, W.B0, H0);
    wide(H0, W.W1, W.B1, H1);
    last();
    return Y;
  }

private:
  CBRIDGE_AVX2 static void wide(const float *In, const float *Weights,
                                const float *Bias, float *Out) {
    __m256 S0 = _mm256_load_ps(Bias), S1 = _mm256_load_ps(Bias + 8);
    __m256 S2 = _mm256_load_ps(Bias + 16), S3 = _mm256_load_ps(Bias + 24);
    __m256 S4 = _mm256_load_ps(Bias + 32), S5 = _mm256_load_ps(Bias + 40);
    __m256 S6 = _mm256_load_ps(Bias + 48), S7 = _mm256_load_ps(Bias + 56);
    for (int K = 0; K < 64; ++K, Weights += 64) {
      __m256 V = _mm256_broadcast_ss(In + K);
      S0 = _mm256_add_ps(S0, _mm256_mul_ps(V, _mm256_load_ps(Weights)));
      S1 = _mm256_add_ps(S1, _mm256_mul_ps(V, _mm256_load_ps(Weights + 8)));
      S2 = _mm256_add_ps(S2, _mm256_mul_ps(V, _mm256_load_ps(Weights + 16)));
      S3 = _mm256_add_ps(S3, _mm256_mul_ps(V, _mm256_load_ps(Weights + 24)));
      S4 = _mm256_add_ps(S4, _mm256_mul_ps(V, _mm256_load_ps(Weights + 32)));
      S5 = _mm256_add_ps(S5, _mm256_mul_ps(V, _mm256_load_ps(Weights + 40)));
      S6 = _mm256_add_ps(S6, _mm256_mul_ps(V, _mm256_load_ps(Weights + 48)));
      S7 = _mm256_add_ps(S7, _mm256_mul_ps(V, _mm256_load_ps(Weights + 56)));
    }
    __m256 Zero = _mm256_setzero_ps();
    _mm256_store_ps(Out, _mm256_max_ps(Zero, S0));
    _mm256_store_ps(Out + 8, _mm256_max_ps(Zero, S1));
    _mm256_store_ps(Out + 16, _mm256_max_ps(Zero, S2));
    _mm256_store_ps(Out + 24, _mm256_max_ps(Zero, S3));
    _mm256_store_ps(Out + 32, _mm256_max_ps(Zero, S4));
    _mm256_store_ps(Out + 40, _mm256_max_ps(Zero, S5));
    _mm256_store_ps(Out + 48, _mm256_max_ps(Zero, S6));
    _mm256_store_ps(Out + 56, _mm256_max_ps(Zero, S7));
  }

  /// In four sums, since one would wait for itself.
  CBRIDGE_AVX2 void last() {
    __m256 S0 = _mm256_load_ps(W.B2), S1 = _mm256_setzero_ps(), S2 = S1,
           S3 = S1;
    for (int K = 0; K < 64; K += 4) {
      const float *Weights = W.W2 + 8 * K;
      S0 = _mm256_add_ps(S0, _mm256_mul_ps(_mm256_broadcast_ss(H1 + K),
                                           _mm256_load_ps(Weights)));
      S1 = _mm256_add_ps(S1, _mm256_mul_ps(_mm256_broadcast_ss(H1 + K + 1),
                                           _mm256_load_ps(Weights + 8)));
      S2 = _mm256_add_ps(S2, _mm256_mul_ps(_mm256_broadcast_ss(H1 + K + 2),
                                           _mm256_load_ps(Weights + 16)));
      S3 = _mm256_add_ps(S3, _mm256_mul_ps(_mm256_broadcast_ss(H1 + K + 3),
                                           _mm256_load_ps(Weights + 24)));
    }
    _mm256_store_ps(
        Y, _mm256_add_ps(_mm256_add_ps(S0, S1), _mm256_add_ps(S2, S3)));
  }

  struct alignas(64) {
    float W0[64 * 64], B0[64], W1[64 * 64], B1[64], W2[64 * 8], B2[8];
  } W;
  alignas(64) float X[64], H0[64], H1[64], Y[8];
};

/// A product of two vectors: 32 sums, the rest alone.
template <size_t Size> class HandDot final : public HandWritten {
public:
  explicit HandDot(const std::string &Folder) {
    readWeights(Folder, W, Size + 1);
  }
  float *input() override { return X; }
  size_t outputs() const override { return 1; }
  CBRIDGE_AVX2 const float *run() override {
    __m256 S0 = _mm256_setzero_ps(), S1 = S0, S2 = S0, S3 = S0;
    size_t I = 0;
    for (; I + 32 <= Size; I += 32) {
      S0 = _mm256_add_ps(S0, product(I));
      S1 = _mm256_add_ps(S1, product(I + 8));
      S2 = _mm256_add_ps(S2, product(I + 16));
      S3 = _mm256_add_ps(S3, product(I + 24));
    }
    for (; I + 8 <= Size; I += 8)
      S0 = _mm256_add_ps(S0, product(I));
    __m256 S = _mm256_add_ps(_mm256_add_ps(S0, S1), _mm256_add_ps(S2, S3));
    __m128 Half =
        _mm_add_ps(_mm256_castps256_ps128(S), _mm256_extractf128_ps(S, 1));
    Half = _mm_add_ps(Half, _mm_movehl_ps(Half, Half));
    Half = _mm_add_ss(Half, _mm_movehdup_ps(Half));
    Y = _mm_cvtss_f32(Half) + W[Size];
    for (; I < Size; ++I)
      Y += W[I] * X[I];
    return &Y;
  }

private:
  CBRIDGE_AVX2 __m256 product(size_t I) const {
    return _mm256_mul_ps(_mm256_load_ps(W + I), _mm256_load_ps(X + I));
  }
  alignas(64) float W[Size + 1];
  alignas(64) float X[Size];
  float Y;
};
#undef CBRIDGE_AVX2
#endif // CBRIDGE_BENCH_HAND

/// Of the model in a folder of _infer_models.py; null if nobody has written it.
inline std::unique_ptr<HandWritten>
handWritten([[maybe_unused]] const std::string &Folder) {
#ifdef CBRIDGE_BENCH_HAND
  const std::string Name = Folder.substr(Folder.rfind('/') + 1);
  if (!__builtin_cpu_supports("avx2"))
    return nullptr;
  if (Name == "mlp")
    return std::make_unique<HandMlp>(Folder);
  if (Name == "fc500")
    return std::make_unique<HandDot<500>>(Folder);
  if (Name == "fc50000")
    return std::make_unique<HandDot<50000>>(Folder);
#endif
  return nullptr;
}

} // namespace bench

#endif // CBRIDGE_BENCH_HANDWRITTEN_H
