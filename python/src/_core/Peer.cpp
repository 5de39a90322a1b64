//===- Peer.cpp - CompilerInterface's C++ half ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PeerHandle.h"

#include <algorithm>

#include <unistd.h>

namespace cbridge::python {

namespace {

/// For so long the interpreter is not let go of while shared memory may soon
/// have something: taking it back costs more.
constexpr std::chrono::nanoseconds QuickLook(5'000);

void report(const std::vector<std::string> &Broken) {
  if (Broken.empty())
    return;
  nb::object Log =
      nb::module_::import_("logging").attr("getLogger")("compiler_bridge");
  for (const std::string &Text : Broken)
    Log.attr("warning")("session ended: %s", decode(Text));
}

} // namespace

void stayIfFinalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  while (Py_IsFinalizing())
#else
  while (_Py_IsFinalizing())
#endif
    ::pause();
}

PyPeer::PyPeer(const std::vector<std::string> &To, PeerOptions Options)
    : Lends(Options.Lend) {
  Options.OnSessionError = [this](const Status &Why) {
    Errors.push_back(Why.toString());
  };
  P = std::make_unique<Peer>(take(Peer::open(To, std::move(Options))));
  Addresses = P->addresses();
}

/// Waits without the interpreter, but comes back often enough for Ctrl-C and
/// close() to feel prompt.
Status PyPeer::waitInSlices(Deadline Until, const Once &Wait) {
  struct Counted {
    explicit Counted(std::atomic<int> &Count) : Count(Count) { ++Count; }
    ~Counted() { --Count; }
    std::atomic<int> &Count;
  } Here(Waiting);
  for (;;) {
    Deadline Slice = Until & Deadline::in(std::chrono::milliseconds(100));
    Status Why = Status::error(StatusCode::PeerClosed, "closed");
    std::vector<std::string> Broken;
    {
      nb::gil_scoped_release Release;
      while (Forking)
        ::usleep(100);
      {
        std::lock_guard<std::mutex> Guard(Using);
        if (P && !Closing)
          Why = Wait(Slice);
        Broken = std::exchange(Errors, {});
      }
      stayIfFinalizing();
    }
    report(Broken);
    if (Why.code() != StatusCode::Timeout)
      return Why;
    --Waiting; // a signal handler may call close(), which waits for others
    bool Interrupted = PyErr_CheckSignals() != 0;
    ++Waiting;
    if (Interrupted)
      throw nb::python_error();
    if (Until.passed())
      return Why;
  }
}

/// A handler of a signal that came while we waited runs now: what it throws
/// must not take with it what has been found.
static bool interrupted() { return PyErr_CheckSignals() != 0; }

std::optional<PyRequest> PyPeer::next(Deadline Until) {
  refuseWhileFilling();
  if (Unseen && !Closing)
    return std::exchange(Unseen, std::nullopt);
  std::optional<PyRequest> Found = waitForOne(Until);
  if (Found && interrupted()) {
    Unseen = std::move(Found);
    throw nb::python_error();
  }
  return Found;
}

std::optional<PyRequest> PyPeer::waitForOne(Deadline Until) {
  std::optional<PyRequest> Found;
  auto Take = [&](Deadline Slice) {
    Expected<RequestPointer> R = P->next(Slice);
    if (!R)
      return R.status();
    Found = PyRequest{std::move(*R), Lends};
    return Status();
  };
  if (std::unique_lock<std::mutex> Guard(Using, std::try_to_lock);
      Guard.owns_lock() && P && !Closing && Errors.empty() &&
      P->comesSoon(QuickLook) && Take(Deadline::in(QuickLook)).ok())
    return Found;
  Status Why = waitInSlices(Until, Take);
  if (!Why.ok() && Why.code() != StatusCode::PeerClosed)
    raise(Why);
  return Found;
}

std::vector<RequestPointer> PyPeer::nextBatch(Deadline Until,
                                              std::chrono::nanoseconds Linger,
                                              size_t Most) {
  refuseWhileFilling();
  std::vector<RequestPointer> Found = waitForSome(Until, Linger, Most);
  if (!Found.empty() && interrupted()) {
    std::unique_lock<std::mutex> Guard = lock();
    Collected.insert(Collected.begin(), Found.begin(), Found.end());
    throw nb::python_error();
  }
  return Found;
}

std::vector<RequestPointer> PyPeer::waitForSome(Deadline Until,
                                                std::chrono::nanoseconds Linger,
                                                size_t Most) {
  std::vector<RequestPointer> Found;
  std::optional<Deadline> Enough; // once there is something
  auto Take = [&](Deadline Slice) {
    if (Collected.empty())
      if (Status S = P->nextBatch(Slice, Collected, Most); !S)
        return S;
    if (!Enough)
      Enough = Deadline::in(Linger)&Until;
    while (!Enough->passed() && P->waitsForMore() &&
           (!Most || Collected.size() < Most)) {
      Status S = P->nextBatch(Slice & *Enough, Collected,
                              Most ? Most - Collected.size() : 0);
      if (S.code() == StatusCode::Timeout && !Enough->passed())
        return S; // the slice is over
      if (!S.ok())
        break;
    }
    Found = std::exchange(Collected, {});
    return Status();
  };
  if (std::unique_lock<std::mutex> Guard(Using, std::try_to_lock);
      Guard.owns_lock() && P && !Closing && Errors.empty() &&
      Linger.count() == 0 && P->comesSoon(QuickLook) &&
      Take(Deadline::in(QuickLook)).ok())
    return Found;
  Status Why = waitInSlices(Until, Take);
  if (!Why.ok() && Why.code() != StatusCode::PeerClosed)
    raise(Why);
  return Found;
}

bool PyPeer::reply(nb::handle Value) {
  std::unique_lock<std::mutex> Guard = lock();
  if (!P || !P->awaitsReply())
    return false;
  // Converting may run Python, which may call close() in a signal handler.
  Filling = std::this_thread::get_id();
  bool Sent = false;
  try {
    fillDecision(P->decision(), Value);
    nb::gil_scoped_release Release; // the compiler may not read
    Sent = !Closing && P->reply().ok();
    stayIfFinalizing();
  } catch (...) {
    stopFilling();
    throw;
  }
  stopFilling();
  return Sent;
}

/// A compiler that does not read, because it was stopped, must not keep the
/// others waiting for long.
static Deadline timeToRead(TensorStorage &Decision) {
  size_t Bytes = 0;
  for (size_t I = 0; I < Decision.size(); ++I)
    Bytes += Decision.bytes(I).size();
  return Deadline::in(std::chrono::milliseconds(500 + Bytes / 20'000));
}

size_t
PyPeer::replyToAll(const std::vector<RequestPointer> &To,
                   const std::function<void(TensorStorage &, size_t)> &Fill) {
  std::unique_lock<std::mutex> Guard = lock();
  if (!P)
    return 0;
  Filling = std::this_thread::get_id();
  size_t Sent = 0;
  try {
    for (size_t I = 0; I < To.size(); ++I)
      if (P->awaitsReply(*To[I]))
        Fill(P->decision(*To[I]), I);
    nb::gil_scoped_release Release;
    for (const RequestPointer &Each : To)
      if (!Closing && P->awaitsReply(*Each))
        Sent += P->reply(*Each, timeToRead(P->decision(*Each))).ok();
    stayIfFinalizing();
  } catch (...) {
    stopFilling();
    throw;
  }
  stopFilling();
  return Sent;
}

bool PyPeer::fail(const std::string &Why) {
  std::unique_lock<std::mutex> Guard = lock();
  return P && P->awaitsReply() && P->fail(Why).ok();
}

size_t PyPeer::failAll(const std::vector<RequestPointer> &To,
                       const std::string &Why) {
  std::unique_lock<std::mutex> Guard = lock();
  size_t Told = 0;
  for (const RequestPointer &Each : To)
    Told += P && P->awaitsReply(*Each) && P->fail(*Each, Why).ok();
  return Told;
}

void PyPeer::failAll(const std::string &Why) {
  std::unique_lock<std::mutex> Guard = lock();
  if (P)
    P->failAll(Why);
}

void PyPeer::close() {
  Closing = true; // or a thread that waits again and again keeps the mutex
  if (Filling.load() == std::this_thread::get_id())
    return; // reply(), which called us, does it
  {
    std::unique_lock<std::mutex> Guard = lock();
    P.reset();
  }
  // Who waits in next() must have left before the interpreter may end.
  for (int Rounds = 0; Waiting > 0 && Rounds < 2000; ++Rounds) {
    nb::gil_scoped_release Release;
    ::usleep(1000);
  }
}

void PyPeer::beforeFork() {
  if (Filling.load() == std::this_thread::get_id())
    return; // a fork in the midst of reply()
  Forking = true;
  nb::gil_scoped_release Release;
  std::unique_lock<std::mutex> Guard(Using, std::defer_lock);
  // Longer than a slice of next().
  for (int Rounds = 0; !Guard.try_lock() && Rounds < 2000; ++Rounds)
    ::usleep(100);
  if (Guard.owns_lock()) {
    HeldForFork = std::move(Guard);
    Forker = std::this_thread::get_id();
  }
}

void PyPeer::afterFork() {
  Forking = false;
  if (HeldForFork.owns_lock() && Forker == std::this_thread::get_id())
    HeldForFork.unlock();
}

void PyPeer::forked() {
  Waiting = 0; // those threads are not here
  afterFork();
  std::unique_lock<std::mutex> Guard(Using, std::try_to_lock);
  if (Guard.owns_lock())
    P.reset();
  else
    (void)P.release(); // another thread's state is not ours to touch
}

void PyPeer::stopFilling() {
  Filling = std::thread::id();
  if (Closing)
    P.reset();
}

/// What is converted to a decision may run any Python, in the same thread.
void PyPeer::refuseWhileFilling() const {
  if (Filling.load() == std::this_thread::get_id())
    raise(PyExc_RuntimeError, "a reply is being converted: what that calls may "
                              "close the peer, and nothing else");
}

/// Waits without the interpreter lock, which the holder may need.
std::unique_lock<std::mutex> PyPeer::lock() {
  refuseWhileFilling();
  std::unique_lock<std::mutex> Guard(Using, std::try_to_lock);
  if (!Guard.owns_lock()) {
    nb::gil_scoped_release Release;
    Guard.lock();
  }
  return Guard;
}

void fillOutput(TensorStorage &To, size_t I, nb::handle Value) {
  const TensorSpec &Spec = To.spec(I);
  if (assignNumber(Value, Spec, "decision", To.bytes(I)))
    return;
  assign(Value, Spec, "decision",
         {[&](Span<const int64_t> E) { return To.resize(I, E); },
          [&] { return To.bytes(I); },
          [&](Span<const std::string_view> V, Span<const int64_t> E) {
            return To.setStrings(I, V, E);
          }});
}

[[noreturn]] static void refuseName(nb::handle Values,
                                    const std::vector<TensorSpec> &Outputs) {
  std::string Known, Unknown;
  for (const TensorSpec &Spec : Outputs)
    Known += (Known.empty() ? "" : ", ") + Spec.name();
  for (nb::handle Key : Values) {
    std::string Name = encode(nb::str(Key));
    bool Found = false;
    for (const TensorSpec &Spec : Outputs)
      Found |= Spec.name() == Name;
    if (!Found)
      Unknown = Name;
  }
  raise(PyExc_ValueError,
        "there is no decision '" + Unknown + "'; the compiler wants " + Known);
}

nb::handle outputIn(nb::handle Values, const std::vector<TensorSpec> &Outputs,
                    size_t I) {
  const std::string &Name = Outputs[I].name();
  PyObject *Item = PyDict_GetItemWithError(Values.ptr(), decode(Name).ptr());
  if (Item)
    return Item;
  if (PyErr_Occurred())
    throw nb::python_error();
  if (PyDict_GET_SIZE(Values.ptr()) == Py_ssize_t(Outputs.size()))
    refuseName(Values, Outputs); // misspelt
  raise(PyExc_ValueError, "decision '" + Name + "' is missing");
}

void refuseUnknown(nb::handle Values, const std::vector<TensorSpec> &Outputs) {
  if (size_t(PyDict_GET_SIZE(Values.ptr())) != Outputs.size())
    refuseName(Values, Outputs);
}

void fillDecision(TensorStorage &To, nb::handle Value) {
  if (!PyDict_Check(Value.ptr())) {
    if (To.size() != 1)
      throw nb::value_error("several outputs: reply with a dict by name");
    return fillOutput(To, 0, Value);
  }
  const std::vector<TensorSpec> &Outputs = To.specs();
  for (size_t I = 0; I < To.size(); ++I)
    fillOutput(To, I, outputIn(Value, Outputs, I));
  refuseUnknown(Value, Outputs);
}

Deadline deadlineIn(nb::handle Given) {
  if (Given.is_none())
    return Deadline::never();
  double Seconds = PyFloat_AsDouble(Given.ptr());
  if (Seconds == -1 && PyErr_Occurred())
    throw nb::python_error();
  return Deadline::in(std::chrono::nanoseconds(
      int64_t(std::min(std::max(Seconds, 0.0), 1e9) * 1e9)));
}

static void makePeer(PyPeer *Self, nb::list Addresses, nb::handle Inputs,
                     nb::handle Outputs, size_t Sessions, size_t MaxMessage,
                     bool Copy) {
  std::vector<std::string> Texts;
  for (nb::handle Each : Addresses)
    Texts.push_back(encode(Each));
  PeerOptions Options;
  Options.Expects = Signature(toSpecs(Inputs), toSpecs(Outputs));
  Options.Sessions = Sessions;
  Options.MaxMessage = MaxMessage;
  Options.Lend = !Copy;
  new (Self) PyPeer(Texts, std::move(Options));
}

void bindPeer(nb::module_ &M) {
  nb::class_<PyPeer>(M, "Peer")
      .def("__init__", &makePeer, nb::arg("addresses"), nb::arg("inputs"),
           nb::arg("outputs"), nb::arg("sessions"), nb::arg("max_message"),
           nb::arg("copy"))
      .def("__iter__", [](nb::handle_t<PyPeer> Self) { return Self; })
      .def("__next__",
           [](PyPeer &Self) {
             std::optional<PyRequest> R = Self.next(Deadline::never());
             if (!R)
               throw nb::stop_iteration();
             return std::move(*R);
           })
      .def(
          "next",
          [](PyPeer &Self, nb::object Seconds) -> nb::object {
            std::optional<PyRequest> R = Self.next(deadlineIn(Seconds));
            return R ? nb::cast(std::move(*R)) : nb::none();
          },
          nb::arg("timeout") = nb::none(),
          "The next request, or None if there will be no more; BridgeTimeout "
          "after so many seconds.")
      .def("reply", &PyPeer::reply, nb::arg("decision").none(),
           "Sends a decision: a dict by name, or the value itself if there is "
           "one output.\nFalse if nobody waits for it any more.")
      .def(
          "_fail_all",
          [](PyPeer &Self, nb::str Why) { Self.failAll(encode(Why)); },
          nb::arg("reason"))
      .def("_before_fork", &PyPeer::beforeFork)
      .def("_after_fork", &PyPeer::afterFork)
      .def("_forked", &PyPeer::forked)
      .def(
          "fail",
          [](PyPeer &Self, nb::str Why) { return Self.fail(encode(Why)); },
          nb::arg("reason"),
          "Tells the compiler that there is no decision this time.")
      .def("close", &PyPeer::close,
           "Stops serving and removes the files. Any thread may call it.")
      .def_prop_ro("addresses", [](const PyPeer &Self) {
        nb::list Texts;
        for (const std::string &Each : Self.addresses())
          Texts.append(decode(Each));
        return Texts;
      });
}

} // namespace cbridge::python
