//===- Decision.h - What a model decided ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_DECISION_H
#define CBRIDGE_DECISION_H

#include <cbridge/Engine.h>
#include <cbridge/Number.h>

namespace cbridge {

/// The named outputs of one evaluation. A view: valid until the runner's next
/// evaluate, and no longer than the runner.
///
/// `get<T>` gives a scalar T (converted where the value is preserved), a
/// `Span<const T>` or `std::vector<T>` (exact element type), a
/// `std::string_view`, a `std::string` or a vector of those.
class Decision {
public:
  Decision(const Signature &Sig, const Engine &E) : Sig(&Sig), E(&E) {}

  size_t size() const { return Sig->outputs().size(); }
  TensorView tensor(size_t I) const { return E->output(I); }

  template <typename T> Expected<T> get(size_t I = 0) const {
    if (I >= size())
      return noOutput(I);
    return read<T>(tensor(I));
  }
  template <typename T> Expected<T> get(std::string_view Name) const {
    std::optional<size_t> I = Sig->outputIndex(Name);
    return I ? read<T>(tensor(*I)) : noOutput("'" + std::string(Name) + "'");
  }

private:
  template <typename T> struct ElementOf;
  template <typename T> struct ElementOf<Span<const T>> {
    using type = T;
  };
  template <typename T> struct ElementOf<std::vector<T>> {
    using type = T;
  };

  template <typename T> static Expected<T> read(const TensorView &V) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (V.Spec->type() == elementTypeOf<detail::ScalarOf<T>>() &&
          V.Data.size() == sizeof(T)) {
        T Value;
        std::memcpy(&Value, V.Data.data(), sizeof(T));
        return Value;
      }
      return convert<T>(V);
    } else if constexpr (std::is_same_v<T, std::string_view> ||
                         std::is_same_v<T, std::string>) {
      if (!V.Spec->isString() || V.elementCount() != 1)
        return wrongType(V, "one string");
      return T(V.string(0));
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      if (!V.Spec->isString())
        return wrongType(V, "strings");
      T Values;
      for (size_t I = 0; I < V.elementCount(); ++I)
        Values.emplace_back(V.string(I));
      return Values;
    } else {
      using Element = typename ElementOf<T>::type;
      if (V.Spec->type() != elementTypeOf<Element>())
        return wrongType(V, toString(elementTypeOf<Element>()));
      Span<const Element> Values = V.as<Element>();
      if constexpr (std::is_same_v<T, std::vector<Element>>)
        return T(Values.begin(), Values.end());
      else
        return Values;
    }
  }
  /// Out of line, to keep the common case small enough for every call.
  template <typename T>
  [[gnu::noinline]] static Expected<T> convert(const TensorView &V) {
    Expected<Number> N = number(V);
    if (!N)
      return N.status();
    detail::ScalarOf<T> Value{};
    if (!N->to(Value))
      return wrongValue(V, *N, toString(elementTypeOf<detail::ScalarOf<T>>()));
    return static_cast<T>(Value);
  }
  static Expected<Number> number(const TensorView &V);
  static Status wrongType(const TensorView &V, std::string_view Wanted);
  static Status wrongValue(const TensorView &V, const Number &Value,
                           std::string_view Wanted);
  Status noOutput(const std::string &What) const;
  Status noOutput(size_t I) const;

  const Signature *Sig;
  const Engine *E;
};

} // namespace cbridge

#endif // CBRIDGE_DECISION_H
