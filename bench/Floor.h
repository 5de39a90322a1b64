//===- Floor.h - The least that a round trip can cost -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the benchmarks compare with: the same floats to the same model without
// anything of ours. `fifo:BASE` is a bare pair of FIFOs, `segment:FILE` a bare
// file in memory on which both ends spin, `segment-yield:FILE` the same for two
// ends on one core. `grpc-unary:TARGET` and `grpc-stream:TARGET`, only for the
// host that is linked with gRPC, are its blocking calls to a grpcio server.
// `ort:ANY,SMALL` has no peer: two ONNX files for ONNX Runtime's C API.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_FLOOR_H
#define CBRIDGE_BENCH_FLOOR_H

#include <cbridge/Span.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bench {

using cbridge::Span;

/// Both ends of a floor.
class Floor {
public:
  using Model = float (*)(Span<const float>);

  virtual ~Floor() = default;
  virtual float ask(Span<const float> X) = 0;
  /// Answers until the host is gone: first the sizes of one repetition of the
  /// benchmark, again and again.
  virtual void serve(Model Answer, const std::vector<size_t> &Sizes) = 0;
  /// While a floor is not measured, its peer must not spin.
  virtual void rest() {}
  virtual void resume() {}

  static std::unique_ptr<Floor> open(const std::string &Spec, bool Host);
};

class FifoFloor : public Floor {
public:
  /// The two ends open in the same order.
  FifoFloor(const std::string &Base, bool Host) {
    int First = ::open((Base + ".out").c_str(), Host ? O_WRONLY : O_RDONLY);
    int Second = ::open((Base + ".in").c_str(), Host ? O_RDONLY : O_WRONLY);
    Out = Host ? First : Second;
    In = Host ? Second : First;
    ::fcntl(First, F_SETPIPE_SZ, 1 << 20);
  }
  float ask(Span<const float> X) override {
    auto *At = reinterpret_cast<const char *>(X.data());
    for (size_t Left = X.size() * sizeof(float); Left;) {
      ssize_t Wrote = ::write(Out, At, Left);
      if (Wrote <= 0)
        std::abort();
      At += Wrote;
      Left -= size_t(Wrote);
    }
    float Y = 0;
    if (::read(In, &Y, sizeof(Y)) != sizeof(Y))
      std::abort();
    return Y;
  }
  void serve(Model Answer, const std::vector<size_t> &Sizes) override {
    std::vector<float> X(50'000);
    for (size_t I = 0;; ++I) {
      size_t Size = Sizes[I % Sizes.size()];
      auto *At = reinterpret_cast<char *>(X.data());
      for (size_t Left = Size * sizeof(float); Left;) {
        ssize_t Got = ::read(In, At, Left);
        if (Got <= 0)
          return;
        At += Got;
        Left -= size_t(Got);
      }
      float Y = Answer({X.data(), Size});
      if (::write(Out, &Y, sizeof(Y)) != sizeof(Y))
        return;
    }
  }

private:
  int Out, In;
};

/// Each in a cache line of its own: requests so far and the size of the latest,
/// replies so far, the reply, whether the peer rests; then the floats.
class SegmentFloor : public Floor {
public:
  static constexpr size_t DataAt = 256, Size = DataAt + 50'000 * sizeof(float);

  SegmentFloor(const std::string &File, bool Yields) : Yields(Yields) {
    int Memory = ::open(File.c_str(), O_RDWR);
    void *P = Memory < 0 ? MAP_FAILED
                         : ::mmap(nullptr, Size, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_POPULATE, Memory, 0);
    if (P == MAP_FAILED)
      std::abort();
    Base = static_cast<char *>(P);
  }
  float ask(Span<const float> X) override {
    std::memcpy(Base + DataAt, X.data(), X.size() * sizeof(float));
    word(8).store(X.size(), std::memory_order_relaxed);
    word(0).store(++Round, std::memory_order_release);
    while (word(64).load(std::memory_order_acquire) != Round)
      if (Yields)
        ::sched_yield();
    float Y;
    std::memcpy(&Y, Base + 128, sizeof(Y));
    return Y;
  }
  void serve(Model Answer, const std::vector<size_t> &) override {
    for (;;) {
      ++Round;
      while (word(0).load(std::memory_order_acquire) != Round) {
        if (Yields)
          ::sched_yield();
        if (word(192).load(std::memory_order_relaxed))
          ::usleep(1000);
      }
      float Y = Answer({reinterpret_cast<const float *>(Base + DataAt),
                        size_t(word(8).load(std::memory_order_relaxed))});
      std::memcpy(Base + 128, &Y, sizeof(Y));
      word(64).store(Round, std::memory_order_release);
    }
  }
  void rest() override { word(192).store(1); }
  void resume() override {
    word(192).store(0);
    float One = 1;
    ask({&One, 1}); // it may still sleep
  }

private:
  std::atomic<uint64_t> &word(size_t At) {
    return *reinterpret_cast<std::atomic<uint64_t> *>(Base + At);
  }

  char *Base;
  uint64_t Round = 0;
  bool Yields;
};

#ifdef CBRIDGE_BENCH_GRPC
std::unique_ptr<Floor> openGrpcFloor(const std::string &Where, bool Streams);
#endif

#ifdef CBRIDGE_BENCH_ORT
std::unique_ptr<Floor> openOrtFloor(const std::string &Files);
#endif

inline std::unique_ptr<Floor> Floor::open(const std::string &Spec, bool Host) {
  size_t Colon = Spec.find(':');
  std::string Kind = Spec.substr(0, Colon), Where = Spec.substr(Colon + 1);
  if (Kind == "fifo")
    return std::make_unique<FifoFloor>(Where, Host);
#ifdef CBRIDGE_BENCH_GRPC
  if (Kind == "grpc-unary" || Kind == "grpc-stream")
    return openGrpcFloor(Where, Kind == "grpc-stream");
#endif
#ifdef CBRIDGE_BENCH_ORT
  if (Kind == "ort")
    return openOrtFloor(Where);
#endif
  return std::make_unique<SegmentFloor>(Where, Kind == "segment-yield");
}

} // namespace bench

#endif // CBRIDGE_BENCH_FLOOR_H
