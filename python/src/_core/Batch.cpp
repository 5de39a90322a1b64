//===- Batch.cpp - The questions of many compilers at once ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PeerHandle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cbridge::python {

namespace {

/// Questions of one signature, and the episodes that have ended meanwhile.
struct PyBatch {
  nb::object Owner; // a PyPeer
  std::vector<RequestPointer> Asked, Ended;

  const Signature &signature() const {
    return (Asked.empty() ? Ended : Asked)[0]->signature();
  }
  PyPeer &peer() const { return nb::cast<PyPeer &>(Owner); }
};

// A pool holds its batches, and they hold the pool: the garbage collector has
// to see that.

int traverseBatch(PyObject *Self, visitproc visit, void *arg) {
  Py_VISIT(Py_TYPE(Self));
  if (nb::inst_ready(Self))
    Py_VISIT(nb::inst_ptr<PyBatch>(Self)->Owner.ptr());
  return 0;
}

int clearBatch(PyObject *Self) {
  nb::inst_ptr<PyBatch>(Self)->Owner.reset();
  return 0;
}

PyType_Slot BatchSlots[] = {
    {Py_tp_traverse, reinterpret_cast<void *>(traverseBatch)},
    {Py_tp_clear, reinterpret_cast<void *>(clearBatch)},
    {0, nullptr}};

/// Memory for the rows of one tensor, given to NumPy.
nb::object rowsToPython(const TensorSpec &Spec, size_t Count,
                        const std::function<Bytes(size_t)> &Row) {
  std::vector<int64_t> Extents = {int64_t(Count)};
  Extents.insert(Extents.end(), Spec.shape().begin(), Spec.shape().end());
  size_t RowSize = Spec.elementCount() * sizeOf(Spec.type());
  auto *Elements = new unsigned char[Count * RowSize + 1];
  nb::capsule Keeper(Elements, [](void *P) noexcept {
    delete[] static_cast<unsigned char *>(P);
  });
  for (size_t I = 0; I < Count && RowSize; ++I)
    std::memcpy(Elements + I * RowSize, Row(I).data(), RowSize);
  return toPython({&Spec, Extents, {Elements, Count * RowSize}}, Keeper);
}

bool canStack(const TensorSpec &Spec) {
  return Spec.isFixed() && Spec.shape().size() < MaxRank;
}

nb::object feature(const PyBatch &B, nb::handle Name) {
  const Signature &Sig = B.signature();
  size_t I = featureIndex(Sig, Name);
  const TensorSpec &Spec = Sig.inputs()[I];
  if (canStack(Spec))
    return rowsToPython(Spec, B.Asked.size(), [&](size_t Row) {
      return B.Asked[Row]->feature(I).Data;
    });
  nb::list Each;
  for (const RequestPointer &R : B.Asked)
    Each.append(copyToPython(R->feature(I)));
  return std::move(Each);
}

/// One value per question, as a NumPy array of T.
template <typename T, typename Callable>
nb::object column(const PyBatch &B, Callable Of) {
  TensorSpec Spec = TensorSpec::create<T>("", {});
  std::vector<T> Values;
  for (const RequestPointer &R : B.Asked)
    Values.push_back(Of(*R));
  return rowsToPython(Spec, Values.size(), [&](size_t I) {
    return Bytes(reinterpret_cast<const unsigned char *>(&Values[I]),
                 sizeof(T));
  });
}

nb::list requests(const PyBatch &B, const std::vector<RequestPointer> &From) {
  nb::list List;
  for (const RequestPointer &R : From)
    List.append(nb::cast(PyRequest{R, B.peer().lends()}));
  return List;
}

/// The values of one output, before any is sent: a mistake sends nothing.
struct Column {
  std::vector<unsigned char> Rows; // of a fixed output
  std::vector<nb::object> Each;    // of the others
};

Column columnOf(nb::handle Value, const TensorSpec &Spec, size_t Count) {
  Column C;
  if (canStack(Spec)) {
    std::vector<int64_t> Extents = {int64_t(Count)};
    Extents.insert(Extents.end(), Spec.shape().begin(), Spec.shape().end());
    TensorSpec Stacked(Spec.name(), Spec.type(), Extents);
    C.Rows.resize(Count * Spec.elementCount() * sizeOf(Spec.type()));
    assign(Value, Stacked, "decision",
           {[](Span<const int64_t>) { return Status(); },
            [&] { return MutableBytes(C.Rows.data(), C.Rows.size()); },
            nullptr});
    return C;
  }
  auto Refuse = [&](const std::string &Got) {
    raise(PyExc_ValueError, "decision '" + Spec.name() + "' of " +
                                std::to_string(Count) + " questions is a " +
                                "list of " + Spec.typeAndShape() + ": got " +
                                Got);
  };
  if (PyUnicode_Check(Value.ptr()) || PyBytes_Check(Value.ptr()) ||
      PyDict_Check(Value.ptr()) || PyAnySet_Check(Value.ptr()))
    Refuse(Py_TYPE(Value.ptr())->tp_name);
  try {
    for (nb::handle Each : Value)
      C.Each.push_back(nb::borrow(Each));
  } catch (nb::python_error &E) {
    if (!E.matches(PyExc_TypeError))
      throw;
    Refuse(Py_TYPE(Value.ptr())->tp_name);
  }
  if (C.Each.size() != Count)
    Refuse(std::to_string(C.Each.size()) + " values");
  return C;
}

size_t reply(const PyBatch &B, nb::handle Value) {
  if (B.Asked.empty())
    return 0;
  const std::vector<TensorSpec> &Outputs = B.signature().outputs();
  bool Named = PyDict_Check(Value.ptr());
  if (!Named && Outputs.size() != 1)
    throw nb::value_error("several outputs: reply with a dict by name");
  std::vector<Column> Columns;
  for (size_t I = 0; I < Outputs.size(); ++I)
    Columns.push_back(columnOf(Named ? outputIn(Value, Outputs, I) : Value,
                               Outputs[I], B.Asked.size()));
  if (Named)
    refuseUnknown(Value, Outputs);
  return B.peer().replyToAll(B.Asked, [&](TensorStorage &To, size_t Row) {
    for (size_t I = 0; I < Columns.size(); ++I) {
      const Column &C = Columns[I];
      size_t Size = To.bytes(I).size();
      if (!C.Each.empty())
        fillOutput(To, I, C.Each[Row]);
      else if (Size)
        std::memcpy(To.bytes(I).data(), C.Rows.data() + Row * Size, Size);
    }
  });
}

/// One batch per signature, in the order of arrival.
nb::list nextBatches(nb::handle_t<PyPeer> Self, nb::object Seconds,
                     double Linger, size_t Most) {
  auto &P = nb::cast<PyPeer &>(Self);
  std::vector<PyBatch> Batches;
  for (RequestPointer &R : P.nextBatch(
           deadlineIn(Seconds),
           std::chrono::nanoseconds(int64_t(std::min(Linger, 1e6) * 1e9)),
           Most)) {
    auto Same =
        std::find_if(Batches.begin(), Batches.end(), [&](const PyBatch &B) {
          const Signature &Sig = B.signature();
          return &Sig == &R->signature() || Sig == R->signature();
        });
    if (Same == Batches.end())
      Same = Batches.insert(Same, PyBatch{nb::borrow(Self), {}, {}});
    (R->done() ? Same->Ended : Same->Asked).push_back(std::move(R));
  }
  nb::list List;
  for (PyBatch &B : Batches)
    List.append(nb::cast(std::move(B)));
  return List;
}

} // namespace

void bindBatch(nb::module_ &M) {
  nb::class_<PyBatch>(M, "Batch", nb::type_slots(BatchSlots),
                      "The questions that several compilers ask at a time, all "
                      "of one signature.")
      .def("__len__", [](const PyBatch &B) { return B.Asked.size(); })
      .def("__bool__", [](const PyBatch &) { return true; })
      .def("__getitem__", &feature)
      .def("__contains__",
           [](const PyBatch &B, nb::handle Name) {
             return hasFeature(B.signature(), Name);
           })
      .def("keys", [](const PyBatch &B) { return featureNames(B.signature()); })
      .def("__iter__",
           [](const PyBatch &B) {
             return nb::iter(featureNames(B.signature()));
           })
      .def_prop_ro("contexts",
                   [](const PyBatch &B) {
                     nb::list Texts;
                     for (const RequestPointer &R : B.Asked)
                       Texts.append(decode(R->context()));
                     return Texts;
                   })
      .def_prop_ro("rewards",
                   [](const PyBatch &B) {
                     return column<double>(B, [](const Request &R) {
                       return R.reward() ? *R.reward() : double(NAN);
                     });
                   })
      .def_prop_ro("sessions",
                   [](const PyBatch &B) {
                     return column<uint64_t>(
                         B, [](const Request &R) { return R.session(); });
                   })
      .def_prop_ro("workers",
                   [](const PyBatch &B) {
                     return column<int64_t>(B, [](const Request &R) {
                       return int64_t(R.address());
                     });
                   })
      .def_prop_ro("requests",
                   [](const PyBatch &B) { return requests(B, B.Asked); })
      .def_prop_ro("ended",
                   [](const PyBatch &B) { return requests(B, B.Ended); })
      .def("reply", &reply, nb::arg("decision").none(),
           "Answers all questions: an array with one row per question, or a "
           "dict of them by name.\nHow many compilers were still there.")
      .def(
          "fail",
          [](const PyBatch &B, nb::str Why) {
            return B.peer().failAll(B.Asked, encode(Why));
          },
          nb::arg("reason"),
          "Tells the compilers that there are no decisions this time.")
      .def_prop_ro(
          "_inputs",
          [](const PyBatch &B) { return fromSpecs(B.signature().inputs()); })
      .def_prop_ro("_outputs", [](const PyBatch &B) {
        return fromSpecs(B.signature().outputs());
      });
  M.def("next_batches", &nextBatches, nb::arg("peer"),
        nb::arg("timeout").none(), nb::arg("linger"), nb::arg("most"));
}

} // namespace cbridge::python
