//===- EchoPeer.h - A peer for tests of grpc: -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_ECHOPEER_H
#define CBRIDGE_MODULES_GRPC_ECHOPEER_H

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace cbridge::test {

inline Signature oneNumber() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

/// A peer that repeats x as y, until it goes away.
class EchoPeer {
public:
  explicit EchoPeer(const std::string &Address,
                    PeerOptions Options = PeerOptions())
      : P(Peer::open(Address, std::move(Options))),
        Serving([this] { serve(); }) {
    EXPECT_TRUE(P) << P.status().toString();
  }
  ~EchoPeer() {
    Stop = true;
    Serving.join();
  }
  std::string address() const { return P ? P->address() : "grpc:nobody:1"; }
  /// So many questions have come.
  size_t seen() const { return Seen; }

private:
  void serve() {
    while (P && !Stop)
      if (auto R = P->next(Deadline::in(std::chrono::milliseconds(5)));
          R && !(*R)->done()) {
        ++Seen;
        Bytes X = (*R)->feature(0).Data;
        std::memcpy(P->decision().bytes(0).data(), X.data(), X.size());
        (void)P->reply();
      }
  }

  std::atomic<bool> Stop{false};
  std::atomic<size_t> Seen{0};
  Expected<Peer> P;
  std::thread Serving;
};

/// Opens a model and asks it for one decision, which must be right.
inline Status askOnce(const std::string &Runner) {
  Expected<Model> M = Model::open(Runner, oneNumber());
  if (!M)
    return M.status();
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"x", 7});
  Expected<int64_t> Y = R.evaluate<int64_t>();
  if (!Y)
    return Y.status();
  EXPECT_EQ(*Y, 7);
  return Status();
}

} // namespace cbridge::test

#endif // CBRIDGE_MODULES_GRPC_ECHOPEER_H
