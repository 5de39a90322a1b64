//===- Recycler.h - Objects used again when nobody holds them ---*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CORE_RECYCLER_H
#define CBRIDGE_CORE_RECYCLER_H

#include <atomic>
#include <memory>
#include <vector>

namespace cbridge {

/// Hands out shared objects and takes back those that only it still holds, so
/// that a loop which keeps a few alive stops allocating. What others hold for
/// long is simply theirs.
template <typename T> class Recycler {
public:
  template <typename... Args> std::shared_ptr<T> take(Args &&...A) {
    for (std::shared_ptr<T> &Each : Pool)
      if (Each.use_count() == 1) {
        // Pairs with the release in the count's last decrement elsewhere.
        std::atomic_thread_fence(std::memory_order_acquire);
        return Each;
      }
    auto Made = std::make_shared<T>(std::forward<Args>(A)...);
    if (Pool.size() < Most)
      Pool.push_back(Made);
    else
      Pool[Next++ % Most] = Made;
    return Made;
  }

private:
  static constexpr size_t Most = 4;
  std::vector<std::shared_ptr<T>> Pool;
  size_t Next = 0;
};

} // namespace cbridge

#endif // CBRIDGE_CORE_RECYCLER_H
