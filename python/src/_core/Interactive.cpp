//===- Interactive.cpp - llvm.InteractiveHost's C++ half ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PeerHandle.h"

#include "interactive/InteractiveHost.h"

namespace cbridge::python {

namespace {

/// A question with features of its own, so that Python may keep it.
class KeptQuestion : public Request {
public:
  KeptQuestion(const InteractiveQuestion &Q, uint64_t Compiler,
               std::shared_ptr<const Signature> Known)
      : Sig(std::move(Known)), Features(Sig->inputs()) {
    Context = Q.Context;
    Session = Compiler;
    Address = Q.Channel;
    Made = Features.status();
    for (size_t I = 0; I < Q.Features.size() && Made.ok(); ++I)
      Made = Features.assign(I, Q.Features[I]);
  }
  const Signature &signature() const override { return *Sig; }
  TensorView feature(size_t I) const override { return Features.view(I); }
  /// Whether there was memory.
  const Status &status() const { return Made; }

private:
  std::shared_ptr<const Signature> Sig; // of a whole compile
  TensorStorage Features;
  Status Made;
};

/// An InteractiveHost that Python threads can share: one waits at a time, and
/// close() ends the wait.
class PyInteractiveHost {
public:
  explicit PyInteractiveHost(const std::vector<std::string> &Bases)
      : Host(take(InteractiveHost::open(Bases))), Known(Bases.size()) {}

  /// None once Stop can be read, or after close().
  std::optional<PyRequest> next(Deadline Until, int Stop);
  /// False if the answer was replaced, or nobody waits for it.
  bool reply(nb::handle Value);
  void close();
  /// Of each channel.
  std::vector<InteractiveHost::Counts> counts();

private:
  std::mutex Using;
  std::atomic<bool> Closing{false};
  std::optional<InteractiveHost> Host;
  std::vector<std::shared_ptr<const Signature>> Known; // of each channel
  std::shared_ptr<const KeptQuestion> Asked; // that waits for its answer
};

std::optional<PyRequest> PyInteractiveHost::next(Deadline Until, int Stop) {
  for (;;) {
    Status Why;
    bool Ended = false;
    std::shared_ptr<const KeptQuestion> Found;
    {
      nb::gil_scoped_release Release;
      {
        std::lock_guard<std::mutex> Guard(Using);
        Asked = nullptr;
        Ended = Closing || !Host;
        if (!Ended) {
          Expected<const InteractiveQuestion *> Q = Host->next(
              Until & Deadline::in(std::chrono::milliseconds(100)), Stop);
          Ended = Q && !*Q;
          Why = Q.status();
          if (Q && *Q) {
            std::shared_ptr<const Signature> &Sig = Known[(*Q)->Channel];
            if (!Sig || *Sig != *(*Q)->Sig)
              Sig = std::make_shared<Signature>(*(*Q)->Sig);
            Found = std::make_shared<KeptQuestion>(
                **Q, Host->counts((*Q)->Channel).Compilers, Sig);
            Why = Found->status();
            Asked = Found;
          }
        }
      }
      stayIfFinalizing();
    }
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    if (Ended)
      return std::nullopt;
    if (Why.ok())
      return PyRequest{std::move(Found)};
    if (Why.code() != StatusCode::Timeout || Until.passed())
      raise(Why);
  }
}

bool PyInteractiveHost::reply(nb::handle Value) {
  std::shared_ptr<const KeptQuestion> To;
  {
    std::lock_guard<std::mutex> Guard(Using);
    To = Asked;
  }
  if (!To)
    return false;
  // Runs Python: without the lock.
  TensorStorage Advice(To->signature().outputs());
  check(Advice.status());
  fillDecision(Advice, Value);
  std::lock_guard<std::mutex> Guard(Using);
  if (Closing || !Host || Asked != To)
    return false;
  Asked = nullptr;
  return take(Host->reply(Advice.view(0).Data));
}

void PyInteractiveHost::close() {
  Closing = true;
  nb::gil_scoped_release Release;
  std::lock_guard<std::mutex> Guard(Using);
  Host.reset();
  Asked = nullptr;
}

std::vector<InteractiveHost::Counts> PyInteractiveHost::counts() {
  nb::gil_scoped_release Release;
  std::lock_guard<std::mutex> Guard(Using);
  std::vector<InteractiveHost::Counts> All;
  for (size_t I = 0; Host && I < Host->size(); ++I)
    All.push_back(Host->counts(I));
  return All;
}

} // namespace

void bindInteractive(nb::module_ &M) {
  nb::class_<PyInteractiveHost>(M, "InteractiveHost")
      .def(
          "__init__",
          [](PyInteractiveHost *Self, nb::list Bases) {
            std::vector<std::string> Paths;
            for (nb::handle Base : Bases)
              Paths.push_back(encode(Base));
            new (Self) PyInteractiveHost(Paths);
          },
          nb::arg("bases"))
      .def(
          "_next",
          [](PyInteractiveHost &Self, nb::object Seconds,
             int Stop) -> nb::object {
            std::optional<PyRequest> R = Self.next(deadlineIn(Seconds), Stop);
            return R ? nb::cast(std::move(*R)) : nb::none();
          },
          nb::arg("timeout").none(), nb::arg("stop"))
      .def("reply", &PyInteractiveHost::reply, nb::arg("decision").none(),
           "Sends a decision: a dict by name, or the value itself.\nFalse if "
           "it is not legal, and a legal one was sent instead, or if nobody "
           "waits for it.")
      .def("_counts",
           [](PyInteractiveHost &Self) {
             nb::list All;
             for (const InteractiveHost::Counts &C : Self.counts())
               All.append(nb::make_tuple(C.Compilers, C.Questions, C.Replaced));
             return All;
           })
      .def("_close", &PyInteractiveHost::close);
}

} // namespace cbridge::python
