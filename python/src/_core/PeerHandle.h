//===- PeerHandle.h - Requests and peers as Python holds them ---*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_PYTHON_PEERHANDLE_H
#define CBRIDGE_PYTHON_PEERHANDLE_H

#include "Binding.h"

#include <atomic>
#include <mutex>
#include <thread>

namespace cbridge::python {

using RequestPointer = std::shared_ptr<const Request>;

/// A request as Python holds it.
struct PyRequest {
  RequestPointer R;
  bool Lent = false; // features may lie in memory that we must not write

  /// Self is this request's Python object.
  nb::object feature(size_t I, nb::handle Self) const {
    return toPython(R->feature(I), Self, /*ReadOnly=*/Lent);
  }
};

/// Its features by name; throws if there is none of that name.
size_t featureIndex(const Signature &Sig, nb::handle Name);
bool hasFeature(const Signature &Sig, nb::handle Name);
nb::list featureNames(const Signature &Sig);

/// A Peer that Python threads can share: one waits at a time, and close() ends
/// the wait.
class PyPeer {
public:
  PyPeer(const std::vector<std::string> &Addresses, PeerOptions Options);

  /// The next request; none if there will be no more.
  std::optional<PyRequest> next(Deadline Until);
  /// All that there is, and what comes within Linger after the first; empty if
  /// there will be no more. What it has found when a signal handler throws
  /// comes with the next batch.
  std::vector<RequestPointer>
  nextBatch(Deadline Until, std::chrono::nanoseconds Linger, size_t Most);
  /// Sends a decision: a dict by name, or the value itself if there is one
  /// output. False if nobody waits for it (any more).
  bool reply(nb::handle Value);
  bool fail(const std::string &Why);
  /// Lets Fill(decision, index) write the decision of each request, and sends
  /// them. How many have been sent.
  size_t replyToAll(const std::vector<RequestPointer> &To,
                    const std::function<void(TensorStorage &, size_t)> &Fill);
  size_t failAll(const std::vector<RequestPointer> &To, const std::string &Why);
  /// The same for all that wait, whether their questions were taken or not.
  void failAll(const std::string &Why);
  /// Whether features may lie in memory that we must not write.
  bool lends() const { return Lends; }
  void close();
  /// Around a fork, in the forking thread: no other one is in the midst of
  /// something, unless it takes too long.
  void beforeFork();
  void afterFork();
  /// The same in the child: lets go of the files, which would otherwise outlive
  /// us there.
  void forked();
  const std::vector<std::string> &addresses() const { return Addresses; }

private:
  using Once = std::function<Status(Deadline)>;
  std::optional<PyRequest> waitForOne(Deadline Until);
  std::vector<RequestPointer>
  waitForSome(Deadline Until, std::chrono::nanoseconds Linger, size_t Most);
  void refuseWhileFilling() const;
  Status waitInSlices(Deadline Until, const Once &Wait);
  std::unique_lock<std::mutex> lock();
  void stopFilling();

  std::mutex Using; // of P, Errors and Collected
  std::atomic<bool> Closing{false};
  std::atomic<int> Waiting{0}; // threads in next()
  std::atomic<bool> Forking{false};
  std::unique_lock<std::mutex> HeldForFork;
  std::thread::id Forker;                                  // who holds it
  std::atomic<std::thread::id> Filling{std::thread::id()}; // the one in reply()
  std::unique_ptr<Peer> P;
  std::vector<std::string> Addresses;
  std::vector<std::string> Errors;
  std::vector<RequestPointer> Collected; // for a batch that is not complete
  std::optional<PyRequest> Unseen;       // that next() could not give
  const bool Lends;
};

/// Writes a decision: a dict by name, or the value of the only output.
void fillDecision(TensorStorage &To, nb::handle Value);
/// The same for one output.
void fillOutput(TensorStorage &To, size_t I, nb::handle Value);
/// The value of output Name in a dict of all Outputs; throws what is wrong.
nb::handle outputIn(nb::handle Values, const std::vector<TensorSpec> &Outputs,
                    size_t I);
/// Throws unless Values has no more than Outputs.
void refuseUnknown(nb::handle Values, const std::vector<TensorSpec> &Outputs);

/// A daemon thread that asks for the interpreter while that shuts down is
/// unwound by force, which no C++ frame survives: it waits for the end here.
void stayIfFinalizing();

/// Seconds as Python passes them; None: never.
Deadline deadlineIn(nb::handle Seconds);

} // namespace cbridge::python

#endif // CBRIDGE_PYTHON_PEERHANDLE_H
