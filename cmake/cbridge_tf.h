//===- cbridge_tf.h - What compiled models need of Abseil -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cbridge_add_tf_model includes this before all else in each of a module's
// sources, TensorFlow's own too. The few names of Abseil that every model uses
// mean things of the standard library in the namespaces that use them: those
// of TensorFlow's library would cost each process that opens a model 25 ms and
// 30 MB. No header or class of Abseil is replaced; what a model needs beyond
// this is still Abseil's.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CMAKE_CBRIDGE_TF_H
#define CBRIDGE_CMAKE_CBRIDGE_TF_H

#include "absl/log/check.h"

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <unordered_map>

namespace cbridge::tf {

template <typename Key, typename Value>
using Map = std::unordered_map<Key, Value>;

struct MutexLock : std::unique_lock<std::mutex> {
  explicit MutexLock(std::mutex &M) : unique_lock(M) {}
  explicit MutexLock(std::mutex *M) : unique_lock(*M) {}
};

/// Waits until it has been decremented Count times.
class BlockingCounter {
public:
  explicit BlockingCounter(int Count) : Count(Count) {}
  bool DecrementCount() {
    MutexLock Lock(M);
    if (--Count == 0)
      Zero.notify_all();
    return Count == 0;
  }
  void Wait() {
    MutexLock Lock(M);
    Zero.wait(Lock, [this] { return Count == 0; });
  }

private:
  std::mutex M;
  std::condition_variable Zero;
  int Count;
};

/// A CHECK that failed. What is written to it is left out.
struct FailedCheck {
  explicit FailedCheck(const char *Text) : Text(Text) {}
  const char *Text;
  template <typename T> const FailedCheck &operator<<(const T &) const {
    return *this;
  }
};
/// Throws the text, of which TfModule.h makes an error; Abseil's CHECK would
/// end the compiler.
struct Raise {
  [[noreturn]] void operator&(const FailedCheck &Failed) const {
#if defined(__cpp_exceptions)
    throw Failed.Text;
#else
    (void)Failed;
    std::abort();
#endif
  }
};

} // namespace cbridge::tf

#undef CHECK
#define CHECK(Condition)                                                       \
  (Condition)                                                                  \
      ? (void)0                                                                \
      : ::cbridge::tf::Raise() & ::cbridge::tf::FailedCheck(                   \
                                     "TensorFlow's check failed: " #Condition)

// A name that is in one of these is found there, all others in Abseil.
namespace tensorflow::absl {
using namespace ::absl;
template <typename Key, typename Value>
using flat_hash_map = cbridge::tf::Map<Key, Value>;
} // namespace tensorflow::absl

namespace xla::cpu::absl {
using namespace ::absl;
using Mutex = std::mutex;
using cbridge::tf::MutexLock;
} // namespace xla::cpu::absl

// The class that TensorFlow generates is here.
namespace cbridge_tf_model::absl {
using namespace ::absl;
using cbridge::tf::BlockingCounter;
template <typename Key, typename Value>
using flat_hash_map = cbridge::tf::Map<Key, Value>;
} // namespace cbridge_tf_model::absl

#endif // CBRIDGE_CMAKE_CBRIDGE_TF_H
