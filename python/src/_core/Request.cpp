//===- Request.cpp - A compiler's question in Python ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PeerHandle.h"

namespace cbridge::python {

size_t featureIndex(const Signature &Sig, nb::handle Name) {
  std::string Wanted = encode(Name);
  if (std::optional<size_t> I = Sig.inputIndex(Wanted))
    return *I;
  std::string Known;
  for (const TensorSpec &Spec : Sig.inputs())
    Known += (Known.empty() ? "" : ", ") + Spec.name();
  raise(PyExc_KeyError,
        "there is no feature '" + Wanted + "'; the compiler sends " + Known);
}

bool hasFeature(const Signature &Sig, nb::handle Name) {
  return PyUnicode_Check(Name.ptr()) &&
         Sig.inputIndex(encode(Name)).has_value();
}

nb::list featureNames(const Signature &Sig) {
  nb::list Names;
  for (const TensorSpec &Spec : Sig.inputs())
    Names.append(decode(Spec.name()));
  return Names;
}

void bindRequest(nb::module_ &M) {
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
             return R.feature(featureIndex(R.R->signature(), Name), Self);
           })
      .def("__contains__",
           [](const PyRequest &R, nb::handle Name) {
             return hasFeature(R.R->signature(), Name);
           })
      .def("__len__",
           [](const PyRequest &R) { return R.R->signature().inputs().size(); })
      .def("__iter__",
           [](const PyRequest &R) {
             return nb::iter(featureNames(R.R->signature()));
           })
      .def("keys",
           [](const PyRequest &R) { return featureNames(R.R->signature()); })
      .def("values",
           [](nb::handle_t<PyRequest> Self) {
             nb::list Values;
             auto &R = nb::cast<PyRequest &>(Self);
             for (size_t I = 0; I < R.R->signature().inputs().size(); ++I)
               Values.append(R.feature(I, Self));
             return Values;
           })
      .def("items",
           [](nb::handle_t<PyRequest> Self) {
             nb::list Items;
             auto &R = nb::cast<PyRequest &>(Self);
             nb::list Names = featureNames(R.R->signature());
             for (size_t I = 0; I < Names.size(); ++I)
               Items.append(nb::make_tuple(Names[I], R.feature(I, Self)));
             return Items;
           })
      .def(
          "get",
          [](nb::handle_t<PyRequest> Self, nb::handle Name,
             nb::handle Default) -> nb::object {
            auto &R = nb::cast<PyRequest &>(Self);
            if (!hasFeature(R.R->signature(), Name))
              return nb::borrow(Default);
            return R.feature(featureIndex(R.R->signature(), Name), Self);
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
      .def_prop_ro("worker", [](const PyRequest &R) { return R.R->address(); })
      .def_prop_ro("_inputs",
                   [](const PyRequest &R) {
                     return fromSpecs(R.R->signature().inputs());
                   })
      .def_prop_ro("_outputs", [](const PyRequest &R) {
        return fromSpecs(R.R->signature().outputs());
      });
}

} // namespace cbridge::python
