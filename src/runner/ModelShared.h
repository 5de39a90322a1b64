//===- ModelShared.h - What the copies of a model share ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_RUNNER_MODELSHARED_H
#define CBRIDGE_RUNNER_MODELSHARED_H

#include <cbridge/Model.h>

#include <atomic>
#include <unordered_map>

namespace cbridge {

class Recording;

struct Model::Shared {
  std::string Text;
  Signature Sig;
  /// Input name to index; the names live in Sig.
  std::unordered_map<std::string_view, size_t> InputIndex;
  EngineSource Source;
  FallbackSink OnFallback;
  /// Where decisions are recorded, if they are.
  std::shared_ptr<Recording> Record;
  std::atomic<bool> ToldRefusal{false}, ToldClosed{false};
  std::atomic<uint64_t> Decisions{0}, Fallbacks{0}, Illegal{0};

  ~Shared() { delete WhyClosed.load(); }

  /// Null while the model decides.
  const Status *closed() const {
    return WhyClosed.load(std::memory_order_acquire);
  }
  /// The first reason stays.
  void close(const Status &Why) {
    const Status *None = nullptr;
    auto *Mine = new Status(Why);
    if (!WhyClosed.compare_exchange_strong(None, Mine,
                                           std::memory_order_acq_rel))
      delete Mine;
  }
  /// To have no model is no news to whoever chose that.
  void report(const Status &Why) {
    if (!OnFallback || Why.code() == StatusCode::Abstained)
      return;
    if (!(closed() ? ToldClosed : ToldRefusal).exchange(true))
      OnFallback(Why);
  }

private:
  std::atomic<const Status *> WhyClosed{nullptr};
};

} // namespace cbridge

#endif // CBRIDGE_RUNNER_MODELSHARED_H
