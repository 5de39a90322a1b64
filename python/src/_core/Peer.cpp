//===- Peer.cpp - CompilerInterface's C++ half ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

#include <atomic>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace cbridge::python {

namespace {

using RequestPointer = std::shared_ptr<const Request>;

/// A request as Python holds it.
struct PyRequest {
  RequestPointer R;

  size_t indexOf(nb::handle Name) const {
    std::string Wanted = encode(Name);
    if (std::optional<size_t> I = R->signature().inputIndex(Wanted))
      return *I;
    std::string Known;
    for (const TensorSpec &Spec : R->signature().inputs())
      Known += (Known.empty() ? "" : ", ") + Spec.name();
    raise(PyExc_KeyError,
          "there is no feature '" + Wanted + "'; the compiler sends " + Known);
  }
  bool contains(nb::handle Name) const {
    return PyUnicode_Check(Name.ptr()) &&
           R->signature().inputIndex(encode(Name)).has_value();
  }
  nb::list names() const {
    nb::list Names;
    for (const TensorSpec &Spec : R->signature().inputs())
      Names.append(decode(Spec.name()));
    return Names;
  }
};

/// A Peer that Python threads can share: one waits at a time, and close() ends
/// the wait.
class PyPeer {
public:
  PyPeer(const std::string &Address, nb::handle Inputs, nb::handle Outputs,
         size_t Sessions, size_t MaxMessage) {
    PeerOptions Options;
    Options.Expects = Signature(toSpecs(Inputs), toSpecs(Outputs));
    Options.Sessions = Sessions;
    Options.MaxMessage = MaxMessage;
    Options.OnSessionError = [this](const Status &Why) {
      Errors.push_back(Why.toString());
    };
    P = std::make_unique<Peer>(take(Peer::open(Address, std::move(Options))));
    Address_ = P->address();
  }

  /// The next request; none if there will be no more.
  std::optional<PyRequest> next(Deadline Until) {
    struct Counted {
      explicit Counted(std::atomic<int> &Count) : Count(Count) { ++Count; }
      ~Counted() { --Count; }
      std::atomic<int> &Count;
    } Here(Waiting);
    for (;;) {
      // Short enough for Ctrl-C and close() to feel prompt.
      Deadline Slice = Until & Deadline::in(std::chrono::milliseconds(100));
      Status Why;
      std::optional<PyRequest> Found;
      std::vector<std::string> Broken;
      {
        nb::gil_scoped_release Release;
        Why = wait(Slice, Found, Broken);
        stayIfFinalizing();
      }
      report(Broken);
      if (Found)
        return Found;
      if (Why.code() == StatusCode::PeerClosed)
        return std::nullopt;
      if (Why.code() != StatusCode::Timeout)
        raise(Why);
      --Waiting; // a signal handler may call close(), which waits for others
      bool Interrupted = PyErr_CheckSignals() != 0;
      ++Waiting;
      if (Interrupted)
        throw nb::python_error();
      if (Until.passed())
        raise(Why);
    }
  }

  /// Sends a decision: a dict by name, or the value itself if there is one
  /// output. False if nobody waits for it (any more).
  bool reply(nb::handle Value) {
    std::unique_lock<std::mutex> Guard = lock();
    if (!P || !P->awaitsReply())
      return false;
    // Converting may run Python, which may call close() in a signal handler.
    Filling = std::this_thread::get_id();
    bool Sent = false;
    try {
      fill(P->decision(), Value);
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
  bool fail(const std::string &Why) {
    std::unique_lock<std::mutex> Guard = lock();
    return P && P->awaitsReply() && P->fail(Why).ok();
  }
  void close() {
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
  /// In a forked child: lets go of the files, which would otherwise outlive us
  /// there. If a thread was waiting, its state is not ours to touch.
  void forked() {
    std::unique_lock<std::mutex> Guard(Using, std::try_to_lock);
    if (Guard.owns_lock())
      P.reset();
    else
      (void)P.release();
  }
  const std::string &address() const { return Address_; }

private:
  void stopFilling() {
    Filling = std::thread::id();
    if (Closing)
      P.reset();
  }

  /// One wait, for which the interpreter is not needed; Broken tells of
  /// sessions that ended badly.
  Status wait(Deadline Until, std::optional<PyRequest> &Found,
              std::vector<std::string> &Broken) {
    std::lock_guard<std::mutex> Guard(Using);
    if (!P || Closing)
      return Status::error(StatusCode::PeerClosed, "closed");
    Expected<RequestPointer> R = P->next(Until);
    Broken = std::exchange(Errors, {});
    if (!R)
      return R.status();
    Found = PyRequest{std::move(*R)};
    return Status();
  }

  /// A daemon thread that asks for the interpreter while that shuts down is
  /// unwound by force, which no C++ frame survives: it waits for the end here.
  static void stayIfFinalizing() {
#if PY_VERSION_HEX >= 0x030D0000
    while (Py_IsFinalizing())
#else
    while (_Py_IsFinalizing())
#endif
      ::pause();
  }

  /// Waits without the interpreter lock, which the holder may need.
  std::unique_lock<std::mutex> lock() {
    std::unique_lock<std::mutex> Guard(Using, std::try_to_lock);
    if (!Guard.owns_lock()) {
      nb::gil_scoped_release Release;
      Guard.lock();
    }
    return Guard;
  }

  static void fillOne(TensorStorage &To, size_t I, nb::handle Value) {
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

  static void fill(TensorStorage &To, nb::handle Value) {
    if (!PyDict_Check(Value.ptr())) {
      if (To.size() != 1)
        throw nb::value_error("several outputs: reply with a dict by name");
      return fillOne(To, 0, Value);
    }
    size_t Used = 0;
    for (size_t I = 0; I < To.size(); ++I) {
      const std::string &Name = To.spec(I).name();
      PyObject *Item = PyDict_GetItemWithError(Value.ptr(), decode(Name).ptr());
      if (!Item && PyErr_Occurred())
        throw nb::python_error();
      if (!Item)
        refuseMissing(To, Value, Name);
      fillOne(To, I, Item);
      ++Used;
    }
    if (size_t(PyDict_GET_SIZE(Value.ptr())) != Used)
      refuseUnknown(To, Value);
  }
  [[noreturn]] static void refuseMissing(TensorStorage &To, nb::handle Value,
                                         const std::string &Name) {
    if (PyDict_GET_SIZE(Value.ptr()) == Py_ssize_t(To.size()))
      refuseUnknown(To, Value); // misspelt
    raise(PyExc_ValueError, "decision '" + Name + "' is missing");
  }
  [[noreturn]] static void refuseUnknown(TensorStorage &To, nb::handle Value) {
    std::string Known, Unknown;
    for (size_t I = 0; I < To.size(); ++I)
      Known += (I ? ", " : "") + To.spec(I).name();
    for (nb::handle Key : Value) {
      std::string Name = encode(nb::str(Key));
      bool Found = false;
      for (size_t I = 0; I < To.size(); ++I)
        Found |= To.spec(I).name() == Name;
      if (!Found)
        Unknown = Name;
    }
    raise(PyExc_ValueError, "there is no decision '" + Unknown +
                                "'; the compiler wants " + Known);
  }

  static void report(const std::vector<std::string> &Broken) {
    if (Broken.empty())
      return;
    nb::object Log =
        nb::module_::import_("logging").attr("getLogger")("compiler_bridge");
    for (const std::string &Text : Broken)
      Log.attr("warning")("session ended: %s", decode(Text));
  }

  std::mutex Using; // of P and Errors
  std::atomic<bool> Closing{false};
  std::atomic<int> Waiting{0};                             // threads in next()
  std::atomic<std::thread::id> Filling{std::thread::id()}; // the one in reply()
  std::unique_ptr<Peer> P;
  std::string Address_;
  std::vector<std::string> Errors;
};

double seconds(nb::handle Given) {
  double Seconds = PyFloat_AsDouble(Given.ptr());
  if (Seconds == -1 && PyErr_Occurred())
    throw nb::python_error();
  return Seconds;
}

Deadline deadlineIn(std::optional<double> Seconds) {
  if (!Seconds)
    return Deadline::never();
  return Deadline::in(std::chrono::nanoseconds(
      int64_t(std::min(std::max(*Seconds, 0.0), 1e9) * 1e9)));
}

} // namespace

void bindPeer(nb::module_ &M) {
  nb::class_<PyRequest>(M, "Request",
                        "One question of a compiler: a read-only mapping of "
                        "feature names to NumPy arrays.")
      .def("__repr__",
           [](const PyRequest &R) {
             std::string Text = "<Request";
             for (const TensorSpec &Spec : R.R->signature().inputs())
               Text += " " + Spec.name() + ":" + Spec.typeAndShape();
             if (!R.R->context().empty())
               Text += " context='" + R.R->context() + "'";
             if (R.R->reward())
               Text += " reward=" + std::to_string(*R.R->reward());
             return decode(Text + (R.R->done() ? " done>" : ">"));
           })
      .def("__getitem__",
           [](nb::handle_t<PyRequest> Self, nb::handle Name) {
             auto &R = nb::cast<PyRequest &>(Self);
             return toPython(R.R->feature(R.indexOf(Name)), Self);
           })
      .def("__contains__", &PyRequest::contains)
      .def("__len__",
           [](const PyRequest &R) { return R.R->signature().inputs().size(); })
      .def("__iter__", [](const PyRequest &R) { return nb::iter(R.names()); })
      .def("keys", &PyRequest::names)
      .def("values",
           [](nb::handle_t<PyRequest> Self) {
             nb::list Values;
             auto &R = nb::cast<PyRequest &>(Self);
             for (size_t I = 0; I < R.R->signature().inputs().size(); ++I)
               Values.append(toPython(R.R->feature(I), Self));
             return Values;
           })
      .def("items",
           [](nb::handle_t<PyRequest> Self) {
             nb::list Items;
             auto &R = nb::cast<PyRequest &>(Self);
             nb::list Names = R.names();
             for (size_t I = 0; I < Names.size(); ++I)
               Items.append(
                   nb::make_tuple(Names[I], toPython(R.R->feature(I), Self)));
             return Items;
           })
      .def(
          "get",
          [](nb::handle_t<PyRequest> Self, nb::handle Name,
             nb::handle Default) -> nb::object {
            auto &R = nb::cast<PyRequest &>(Self);
            if (!R.contains(Name))
              return nb::borrow(Default);
            return toPython(R.R->feature(R.indexOf(Name)), Self);
          },
          nb::arg("name"), nb::arg("default") = nb::none())
      .def_prop_ro("context",
                   [](const PyRequest &R) { return decode(R.R->context()); })
      .def_prop_ro("reward",
                   [](const PyRequest &R) -> nb::object {
                     return R.R->reward()
                                ? nb::object(nb::float_(*R.R->reward()))
                                : nb::none();
                   })
      .def_prop_ro("done", [](const PyRequest &R) { return R.R->done(); })
      .def_prop_ro("truncated",
                   [](const PyRequest &R) { return R.R->truncated(); })
      .def_prop_ro("session", [](const PyRequest &R) { return R.R->session(); })
      .def_prop_ro("runner", [](const PyRequest &R) { return R.R->runner(); })
      .def_prop_ro("_inputs",
                   [](const PyRequest &R) {
                     return fromSpecs(R.R->signature().inputs());
                   })
      .def_prop_ro("_outputs", [](const PyRequest &R) {
        return fromSpecs(R.R->signature().outputs());
      });

  nb::class_<PyPeer>(M, "Peer")
      .def(
          "__init__",
          [](PyPeer *Self, nb::str Address, nb::handle Inputs,
             nb::handle Outputs, size_t Sessions, size_t MaxMessage) {
            new (Self)
                PyPeer(encode(Address), Inputs, Outputs, Sessions, MaxMessage);
          },
          nb::arg("address"), nb::arg("inputs"), nb::arg("outputs"),
          nb::arg("sessions"), nb::arg("max_message"))
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
            std::optional<double> Limit;
            if (!Seconds.is_none())
              Limit = seconds(Seconds);
            std::optional<PyRequest> R = Self.next(deadlineIn(Limit));
            return R ? nb::cast(std::move(*R)) : nb::none();
          },
          nb::arg("timeout") = nb::none(),
          "The next request, or None if there will be no more; BridgeTimeout "
          "after so many seconds.")
      .def("reply", &PyPeer::reply, nb::arg("decision").none(),
           "Sends a decision: a dict by name, or the value itself if there is "
           "one output.\nFalse if nobody waits for it any more.")
      .def("_forked", &PyPeer::forked)
      .def(
          "fail",
          [](PyPeer &Self, nb::str Why) { return Self.fail(encode(Why)); },
          nb::arg("reason"),
          "Tells the compiler that there is no decision this time.")
      .def("close", &PyPeer::close,
           "Stops serving and removes the files. Any thread may call it.")
      .def_prop_ro("address",
                   [](const PyPeer &Self) { return decode(Self.address()); });
}

} // namespace cbridge::python
