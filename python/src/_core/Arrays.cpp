//===- Arrays.cpp - Tensors as NumPy arrays and back ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Binding.h"

#include <nanobind/ndarray.h>

#include <cassert>
#include <iterator>

namespace cbridge::python {

namespace {

nb::dlpack::dtype dtypeOf(ElementType Type) {
  switch (Type) {
  case ElementType::Bool:
    return nb::dtype<bool>();
  case ElementType::Int8:
    return nb::dtype<int8_t>();
  case ElementType::Int16:
    return nb::dtype<int16_t>();
  case ElementType::Int32:
    return nb::dtype<int32_t>();
  case ElementType::Int64:
    return nb::dtype<int64_t>();
  case ElementType::UInt8:
  case ElementType::String:
    return nb::dtype<uint8_t>();
  case ElementType::UInt16:
    return nb::dtype<uint16_t>();
  case ElementType::UInt32:
    return nb::dtype<uint32_t>();
  case ElementType::UInt64:
    return nb::dtype<uint64_t>();
  case ElementType::Float:
    return nb::dtype<float>();
  case ElementType::Double:
    return nb::dtype<double>();
  }
  return nb::dtype<uint8_t>();
}

nb::object array(const TensorView &V, nb::handle Owner, bool ReadOnly = false) {
  size_t Shape[MaxRank + 1]; // and that of the rows
  assert(V.Extents.size() <= std::size(Shape));
  for (size_t D = 0; D < V.Extents.size(); ++D)
    Shape[D] = size_t(V.Extents[D]);
  // NumPy wants a valid address even for no elements.
  static unsigned char Nothing;
  const void *Data = V.Data.data() ? V.Data.data() : &Nothing;
  auto Type = dtypeOf(V.Spec->type());
  if (ReadOnly)
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(
        Data, V.Extents.size(), Shape, Owner, nullptr, Type));
  return nb::cast(nb::ndarray<nb::numpy>(
      const_cast<void *>(Data), V.Extents.size(), Shape, Owner, nullptr, Type));
}

/// Strings from First on, nested like the extents from dimension D on.
nb::object strings(const TensorView &V, size_t D, size_t &First) {
  if (D == V.Extents.size())
    return decode(V.string(First++));
  nb::list List;
  if (V.elementCount() == 0)
    return std::move(List); // however many empty lists that might be
  for (int64_t I = 0; I < V.Extents[D]; ++I)
    List.append(strings(V, D + 1, First));
  return std::move(List);
}

[[noreturn]] void refuse(const TensorSpec &Spec, const char *What,
                         const std::string &Why) {
  raise(PyExc_ValueError, std::string(What) + " '" + Spec.name() + "' is " +
                              Spec.typeAndShape() + ": " + Why);
}

std::string typeName(nb::handle Value) { return Py_TYPE(Value.ptr())->tp_name; }

/// The bytes of an object with the buffer protocol.
class Buffer {
public:
  static bool canView(nb::handle Of) {
    Py_buffer Probe;
    if (!PyObject_CheckBuffer(Of.ptr()))
      return false;
    if (PyObject_GetBuffer(Of.ptr(), &Probe, Flags) != 0) {
      PyErr_Clear();
      return false;
    }
    PyBuffer_Release(&Probe);
    return true;
  }
  explicit Buffer(nb::handle Of) {
    if (PyObject_GetBuffer(Of.ptr(), &View, Flags) != 0)
      throw nb::python_error();
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { PyBuffer_Release(&View); }

  std::optional<ElementType> type() const {
    const char *Format = View.format ? View.format : "B";
    if (*Format == '@' || *Format == '=' || *Format == '<')
      ++Format;
    if (Format[0] == '\0' || Format[1] != '\0')
      return std::nullopt;
    auto Integer = [&](ElementType Narrowest) -> std::optional<ElementType> {
      for (int Log = 0; Log < 4; ++Log)
        if (View.itemsize == Py_ssize_t(1) << Log)
          return ElementType(int(Narrowest) + Log);
      return std::nullopt;
    };
    switch (*Format) {
    case '?':
      return ElementType::Bool;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return Integer(ElementType::Int8);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return Integer(ElementType::UInt8);
    case 'f':
      return ElementType::Float;
    case 'd':
      return ElementType::Double;
    default:
      return std::nullopt;
    }
  }
  size_t count() const { return size_t(View.len / View.itemsize); }
  Span<const int64_t> shape() const {
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
    return {reinterpret_cast<const int64_t *>(View.shape), size_t(View.ndim)};
  }
  const unsigned char *data() const {
    return static_cast<const unsigned char *>(View.buf);
  }

private:
  static constexpr int Flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS;
  Py_buffer View;
};

/// The extents that a value with this shape gives the tensor. A single value
/// may stand for a tensor of one element, as may a flat array for a fixed one.
std::vector<int64_t> extentsFor(const TensorSpec &Spec, const char *What,
                                Span<const int64_t> Shape, size_t Count) {
  if (Spec.checkExtents(Shape).ok())
    return {Shape.begin(), Shape.end()};
  std::vector<int64_t> Extents(Spec.shape().begin(), Spec.shape().end());
  if (Shape.size() <= 1 && Count == 1)
    for (int64_t &Extent : Extents)
      Extent = Extent == Dynamic ? 1 : Extent;
  Expected<size_t> Wanted = elementCount(Extents);
  if (!Wanted || *Wanted != Count || Shape.size() > 1) {
    std::string Given;
    for (int64_t Extent : Shape)
      Given += (Given.empty() ? "" : ",") + std::to_string(Extent);
    refuse(Spec, What, "got shape [" + Given + "]");
  }
  return Extents;
}

void collectStrings(nb::handle Value, std::vector<std::string> &Texts,
                    std::vector<int64_t> &Shape, size_t Depth,
                    const TensorSpec &Spec, const char *What) {
  if (PyUnicode_Check(Value.ptr())) {
    Texts.push_back(encode(Value));
    return;
  }
  if (!PySequence_Check(Value.ptr()))
    refuse(Spec, What, "expected str, got " + typeName(Value));
  if (Depth == MaxRank) // also of a list that contains itself
    refuse(Spec, What, "the lists are nested too deeply");
  auto Size = int64_t(nb::len(Value));
  if (Shape.size() == Depth)
    Shape.push_back(Size);
  if (Shape[Depth] != Size)
    refuse(Spec, What, "the lists differ in length");
  for (nb::handle Each : Value)
    collectStrings(Each, Texts, Shape, Depth + 1, Spec, What);
}

void assignStrings(nb::handle Value, const TensorSpec &Spec, const char *What,
                   const Destination &To) {
  std::vector<std::string> Texts;
  std::vector<int64_t> Shape;
  collectStrings(Value, Texts, Shape, 0, Spec, What);
  if (Expected<size_t> Count = elementCount(Shape);
      !Count || *Count != Texts.size())
    refuse(Spec, What, "the lists differ in depth");
  std::vector<int64_t> Extents = extentsFor(Spec, What, Shape, Texts.size());
  std::vector<std::string_view> Views(Texts.begin(), Texts.end());
  check(To.SetStrings(Views, Extents));
}

void store(const Number &N, const TensorSpec &Spec, const char *What,
           unsigned char *To) {
  if (!N.store(Spec.type(), To))
    refuse(Spec, What, N.toString() + " cannot be kept exactly");
}

} // namespace

std::vector<TensorSpec> toSpecs(nb::handle List) {
  std::vector<TensorSpec> Specs;
  for (nb::handle Each : List) {
    auto Tuple = nb::cast<nb::tuple>(Each);
    std::vector<int64_t> Shape;
    for (nb::handle Extent : nb::cast<nb::tuple>(Tuple[2]))
      Shape.push_back(nb::cast<int64_t>(Extent));
    Specs.emplace_back(encode(Tuple[0]),
                       take(parseElementType(encode(Tuple[1]))),
                       std::move(Shape));
  }
  return Specs;
}

nb::list fromSpecs(const std::vector<TensorSpec> &Specs) {
  nb::list List;
  for (const TensorSpec &Spec : Specs) {
    nb::list Shape;
    for (int64_t Extent : Spec.shape())
      Shape.append(Extent);
    std::string_view Type = toString(Spec.type());
    List.append(
        nb::make_tuple(decode(Spec.name()), decode(Type), nb::tuple(Shape)));
  }
  return List;
}

nb::object toPython(const TensorView &V, nb::handle Owner, bool ReadOnly) {
  size_t First = 0;
  return V.Spec->isString() ? strings(V, 0, First) : array(V, Owner, ReadOnly);
}

nb::object copyToPython(const TensorView &V) {
  if (V.Spec->isString())
    return toPython(V, nb::handle());
  auto *Elements = new unsigned char[V.Data.size() + 1];
  if (!V.Data.empty())
    std::memcpy(Elements, V.Data.data(), V.Data.size());
  nb::capsule Owner(Elements, [](void *P) noexcept {
    delete[] static_cast<unsigned char *>(P);
  });
  return array({V.Spec, V.Extents, {Elements, V.Data.size()}}, Owner);
}

bool assignNumber(nb::handle Value, const TensorSpec &Spec, const char *What,
                  MutableBytes To) {
  if (Spec.isString() || To.size() != sizeOf(Spec.type()))
    return false;
  PyObject *P = Value.ptr();
  if (PyFloat_CheckExact(P)) {
    store(PyFloat_AS_DOUBLE(P), Spec, What, To.data());
  } else if (PyBool_Check(P)) {
    store(P == Py_True, Spec, What, To.data());
  } else if (PyLong_CheckExact(P)) {
    int Overflow = 0;
    long long Integer = PyLong_AsLongLongAndOverflow(P, &Overflow);
    if (Overflow > 0) {
      uint64_t Unsigned = PyLong_AsUnsignedLongLong(P);
      if (PyErr_Occurred()) {
        PyErr_Clear();
        refuse(Spec, What, "too large an integer");
      }
      store(Unsigned, Spec, What, To.data());
    } else if (Overflow < 0)
      refuse(Spec, What, "too small an integer");
    else
      store(Integer, Spec, What, To.data());
  } else {
    return false;
  }
  return true;
}

void assign(nb::handle Value, const TensorSpec &Spec, const char *What,
            const Destination &To) {
  if (Spec.isString())
    return assignStrings(Value, Spec, What, To);
  if (PyUnicode_Check(Value.ptr()) || PyBytes_Check(Value.ptr()) ||
      Value.is_none())
    refuse(Spec, What, "got " + typeName(Value));
  // Arrays and NumPy scalars lend their memory; lists become arrays first.
  nb::object Array = nb::borrow(Value);
  std::optional<Buffer> Lent;
  try {
    if (!Buffer::canView(Value))
      Array = nb::module_::import_("numpy").attr("ascontiguousarray")(Value);
    Lent.emplace(Array);
  } catch (nb::python_error &E) {
    if (!E.matches(PyExc_ValueError) && !E.matches(PyExc_TypeError))
      throw;
    refuse(Spec, What, encode(nb::str(E.value())));
  }
  const Buffer &Given = *Lent;
  std::optional<ElementType> Type = Given.type();
  if (!Type)
    refuse(Spec, What,
           "got elements of type " +
               std::string(
                   nb::str(nb::getattr(Array, "dtype", Array.type())).c_str()));
  check(To.Resize(extentsFor(Spec, What, Given.shape(), Given.count())));
  MutableBytes Data = To.Data();
  size_t From = sizeOf(*Type), Size = sizeOf(Spec.type());
  if (Data.size() != Given.count() * Size)
    refuse(Spec, What,
           "no room for " + std::to_string(Given.count()) + " elements");
  if (*Type == Spec.type()) {
    if (!Data.empty())
      std::memcpy(Data.data(), Given.data(), Data.size());
    if (Spec.type() == ElementType::Bool) // views can make bools of anything
      for (unsigned char &Byte : Data)
        Byte = Byte != 0;
    return;
  }
  for (size_t I = 0; I < Given.count(); ++I)
    store(Number::load(*Type, Given.data() + I * From), Spec, What,
          Data.data() + I * Size);
}

} // namespace cbridge::python
