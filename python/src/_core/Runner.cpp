//===- Runner.cpp - Runner's C++ half -------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

namespace cbridge::python {

namespace {

/// A model and one runner of it, for one Python thread at a time.
class PyRunner {
public:
  PyRunner(const std::string &Text, nb::handle Inputs, nb::handle Outputs)
      : M(open(Text, Signature(toSpecs(Inputs), toSpecs(Outputs)), Told)),
        R(M.runner()) {
    report();
  }
  PyRunner(const PyRunner &) = delete;
  /// Ends the episode: who is told may be a thread of this process.
  ~PyRunner() {
    nb::gil_scoped_release Release;
    Model Last = std::move(M);
    MLModelRunner Gone = std::move(R);
  }

  void populate(nb::dict Features) {
    for (auto [Key, Value] : Features) {
      std::string Name = encode(Key);
      size_t I = indexOf(Name);
      const TensorSpec &Spec = M.signature().inputs()[I];
      if (assignNumber(Value, Spec, "feature", R.getTensorUntyped(I)))
        continue;
      assign(Value, Spec, "feature",
             {[&](Span<const int64_t> E) {
                R.resize(I, E);
                return Status();
              },
              [&] { return R.getTensorUntyped(I); },
              [&](Span<const std::string_view> V, Span<const int64_t>) {
                R.populateFeatures(std::pair{Name, V});
                return Status();
              }});
    }
  }

  /// What the caller decided, for the log.
  void noteFallback(nb::dict Taken) {
    TensorStorage Out(M.signature().outputs());
    check(Out.status());
    for (size_t I = 0; I < Out.size(); ++I) {
      const TensorSpec &Spec = Out.spec(I);
      nb::str Name = decode(Spec.name());
      if (!Taken.contains(Name))
        raise(PyExc_KeyError, "decision '" + Spec.name() + "' is missing");
      assign(Taken[Name], Spec, "decision",
             {[&](Span<const int64_t> E) { return Out.resize(I, E); },
              [&] { return Out.bytes(I); },
              [&](Span<const std::string_view> V, Span<const int64_t> E) {
                return Out.setStrings(I, V, E);
              }});
    }
    R.noteFallback(Why, Out.views());
    report();
  }
  void reward(double Value) {
    Status S = R.reward(Value);
    report();
    check(S);
  }
  void endEpisode() {
    Status S;
    {
      nb::gil_scoped_release Release;
      S = R.endEpisode();
    }
    report();
    check(S);
  }

  nb::dict evaluate() {
    std::optional<Expected<Decision>> D;
    {
      nb::gil_scoped_release Release;
      D.emplace(R.evaluate());
    }
    report();
    Why = D->status();
    if (!*D)
      raise(Why);
    nb::dict Result;
    for (size_t I = 0; I < (*D)->size(); ++I)
      Result[decode(M.signature().outputs()[I].name())] =
          copyToPython((*D)->tensor(I));
    return Result;
  }

  TensorView feature(size_t I) {
    const TensorSpec &Spec = M.signature().inputs()[I];
    if (!Spec.isFixed())
      raise(PyExc_ValueError,
            "feature '" + Spec.name() + "' is " + Spec.typeAndShape() +
                ": only fixed features can be filled in place");
    return {&Spec, Spec.shape(), R.getTensorUntyped(I)};
  }
  size_t indexOf(const std::string &Name) const {
    if (std::optional<size_t> I = M.signature().inputIndex(Name))
      return *I;
    std::string Known;
    for (const TensorSpec &Spec : M.signature().inputs())
      Known += (Known.empty() ? "" : ", ") + Spec.name();
    raise(PyExc_KeyError,
          "there is no feature '" + Name + "'; the signature has " + Known);
  }

  void setMask(nb::handle Mask, size_t Output) {
    std::vector<unsigned char> Values;
    for (nb::handle Each : Mask) {
      int Allowed = PyObject_IsTrue(Each.ptr()); // NumPy's bool is not Python's
      if (Allowed < 0)
        throw nb::python_error();
      Values.push_back(Allowed != 0);
    }
    R.setMask(Span<const bool>(reinterpret_cast<const bool *>(Values.data()),
                               Values.size()),
              Output);
  }

  /// What the model's sink was told and report() has not logged.
  using Lines = std::shared_ptr<std::vector<std::string>>;
  Lines Told = std::make_shared<std::vector<std::string>>();
  Model M;
  MLModelRunner R;
  Status Why; // the latest evaluate failed

private:
  void report() {
    if (Told->empty())
      return;
    nb::object Log =
        nb::module_::import_("logging").attr("getLogger")("compiler_bridge");
    for (const std::string &Line : std::exchange(*Told, {}))
      Log.attr("warning")("%s", decode(Line));
  }
  static Model open(const std::string &Text, Signature Sig, const Lines &To) {
    nb::gil_scoped_release Release; // the peer may be a thread of this process
    Expected<Model> Opened =
        Model::open(Text, std::move(Sig),
                    [To](const Status &S) { To->push_back(S.toString()); });
    if (Opened)
      return std::move(*Opened);
    nb::gil_scoped_acquire Acquire;
    raise(Opened.status());
  }
};

} // namespace

/// What a model itself takes and gives.
static nb::tuple describe(nb::str Text) {
  std::string Runner = encode(Text);
  Expected<Signature> Sig = [&] {
    nb::gil_scoped_release Release;
    return Model::describe(Runner);
  }();
  if (!Sig)
    raise(Sig.status());
  return nb::make_tuple(fromSpecs(Sig->inputs()), fromSpecs(Sig->outputs()));
}

void bindRunner(nb::module_ &M) {
  M.def("describe", describe, nb::arg("runner"));
  nb::class_<PyRunner>(M, "Runner")
      .def(
          "__init__",
          [](PyRunner *Self, nb::str Text, nb::handle Inputs,
             nb::handle Outputs) {
            new (Self) PyRunner(encode(Text), Inputs, Outputs);
          },
          nb::arg("runner"), nb::arg("inputs"), nb::arg("outputs"))
      .def("populate_features", &PyRunner::populate, nb::arg("features"))
      .def("evaluate", &PyRunner::evaluate)
      .def("note_fallback", &PyRunner::noteFallback, nb::arg("taken"))
      .def(
          "get_tensor",
          [](nb::handle_t<PyRunner> Self, nb::str Name) {
            auto &R = nb::cast<PyRunner &>(Self);
            return toPython(R.feature(R.indexOf(encode(Name))), Self);
          },
          nb::arg("name"))
      .def(
          "switch_context",
          [](PyRunner &Self, nb::str Name) {
            Self.R.switchContext(encode(Name));
          },
          nb::arg("name"))
      .def("reward", &PyRunner::reward, nb::arg("value"))
      .def("end_episode", &PyRunner::endEpisode)
      .def("set_mask", &PyRunner::setMask, nb::arg("mask"),
           nb::arg("output") = 0)
      .def(
          "set_range",
          [](PyRunner &Self, double Low, double High, size_t Output) {
            Self.R.setRange(Low, High, Output);
          },
          nb::arg("low"), nb::arg("high"), nb::arg("output") = 0)
      .def_prop_ro("why_not", [](const PyRunner &Self) -> nb::object {
        Status S = Self.M.whyNot();
        return S.ok() ? nb::none() : nb::object(decode(S.toString()));
      });
}

} // namespace cbridge::python
