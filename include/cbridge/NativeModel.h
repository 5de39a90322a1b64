//===- NativeModel.h - A compiled model as native: sees it ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the adapters that `cbridge compile` writes beside its models consist of.
// Only they include this. Needs headers alone: no library, no exceptions, no
// RTTI.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_NATIVEMODEL_H
#define CBRIDGE_NATIVEMODEL_H

#include <cbridge/module.h>

#include <new>
#include <type_traits>

namespace cbridge::native {

template <typename Element> constexpr int32_t elementType() {
  if constexpr (std::is_same_v<Element, bool>)
    return CBRIDGE_BOOL;
  else if constexpr (std::is_same_v<Element, float>)
    return CBRIDGE_FLOAT;
  else if constexpr (std::is_same_v<Element, double>)
    return CBRIDGE_DOUBLE;
  else {
    static_assert(std::is_integral_v<Element>, "no element type of tensors");
    constexpr int32_t First =
        std::is_signed_v<Element> ? CBRIDGE_INT8 : CBRIDGE_UINT8;
    return First + (sizeof(Element) > 1) + (sizeof(Element) > 2) +
           (sizeof(Element) > 4);
  }
}

constexpr size_t lengthOf(const char *Text) {
  size_t Size = 0;
  while (Text[Size])
    ++Size;
  return Size;
}

template <typename Model> Model &get(void *Instance) {
  return *static_cast<Model *>(Instance);
}
template <typename Model> const Model &get(const void *Instance) {
  return *static_cast<const Model *>(Instance);
}

/// A shape with the symbols that its extents are; both empty for a scalar.
struct Shape {
  const int64_t *Extents = nullptr;
  const int32_t *Symbols = nullptr;
  uint32_t Rank = 0;

  constexpr Shape() = default;
  template <uint32_t Size>
  constexpr explicit Shape(const int64_t (&E)[Size]) : Extents(E), Rank(Size) {}
  template <uint32_t Size>
  constexpr Shape(const int64_t (&E)[Size], const int32_t (&S)[Size])
      : Extents(E), Symbols(S), Rank(Size) {}
};

/// The type and size of a member that is an array.
template <typename Member> struct ArrayOf;
template <typename Struct, typename T, size_t Count>
struct ArrayOf<T (Struct::*)[Count]> {
  using Element = T;
  static constexpr size_t Size = Count;
};

template <auto Member>
constexpr cbridge_native_port port(const char *Name, Shape S,
                                   void *(*Data)(void *)) {
  using Array = ArrayOf<decltype(Member)>;
  return {{{Name, lengthOf(Name)},
           elementType<typename Array::Element>(),
           S.Rank,
           S.Extents},
          Array::Size,
          Data,
          S.Symbols,
          nullptr};
}

/// Member: &Model::Inputs::x.
template <typename Model, auto Member>
constexpr cbridge_native_port input(const char *Name, Shape S) {
  return port<Member>(Name, S, [](void *Instance) -> void * {
    return get<Model>(Instance).in.*Member;
  });
}

/// Member: &Model::Outputs::y. Extents: as cbridge_native_port has it.
template <typename Model, auto Member>
constexpr cbridge_native_port output(const char *Name, Shape S,
                                     void (*Extents)(const void *,
                                                     int64_t *) = nullptr) {
  cbridge_native_port Made =
      port<Member>(Name, S, [](void *Instance) -> void * {
        return get<Model>(Instance).out.*Member;
      });
  Made.extents = Extents;
  return Made;
}

/// Member: &Model::Extents::N.
template <typename Model, auto Member>
constexpr cbridge_native_symbol symbol(const char *Name, int64_t Maximum) {
  return {Name, Maximum, [](void *Instance, int64_t Extent) {
            get<Model>(Instance).extents.*Member = Extent;
          }};
}

/// An array, or nothing: arrays of C++ are not empty.
template <typename T> struct List {
  const T *Data = nullptr;
  size_t Size = 0;

  constexpr List() = default;
  template <size_t Count>
  constexpr List(const T (&Of)[Count]) : Data(Of), Size(Count) {}
};

constexpr unsigned char hexDigit(char Digit) {
  return static_cast<unsigned char>(Digit <= '9' ? Digit - '0'
                                                 : Digit - 'a' + 10);
}

/// The table of a Model. Levels: their names, as Model::Level counts them, and
/// NULL.
template <typename Model>
constexpr cbridge_native_model
table(const char *Name, const char *Help, List<cbridge_native_port> Inputs,
      List<cbridge_native_port> Outputs, List<cbridge_native_symbol> Symbols,
      const char *const *Levels) {
  cbridge_native_model T = {};
  T.size = sizeof(T);
  T.name = Name;
  T.help = Help;
  T.inputs = Inputs.Data;
  T.input_count = Inputs.Size;
  T.outputs = Outputs.Data;
  T.output_count = Outputs.Size;
  T.symbols = Symbols.Data;
  T.symbol_count = Symbols.Size;
  for (size_t I = 0; I < sizeof(T.fingerprint); ++I)
    T.fingerprint[I] =
        static_cast<unsigned char>(hexDigit(Model::Fingerprint[2 * I]) * 16 +
                                   hexDigit(Model::Fingerprint[2 * I + 1]));
  T.weights_size = Model::WeightsSize;
  T.weights_embedded = Model::WeightsEmbedded;
  T.levels = Levels;
  T.best_level = [] { return static_cast<int>(Model::best()); };
  T.instance_size = sizeof(Model);
  T.instance_alignment = alignof(Model);
  T.construct = [](void *Memory, int Level) {
    new (Memory) Model(static_cast<typename Model::Level>(Level));
  };
  T.destroy = [](void *Instance) { get<Model>(Instance).~Model(); };
  T.use_weights = [](void *Instance, const void *Weights) {
    get<Model>(Instance).useWeights(Weights);
  };
  T.evaluate = [](void *Instance) -> const char * {
    return get<Model>(Instance).evaluate();
  };
  return T;
}

} // namespace cbridge::native

/// The symbol by which the list of linked-in models names a table. Hidden: each
/// plugin has its own.
#define CBRIDGE_NATIVE_MODEL(Symbol)                                           \
  extern "C" {                                                                 \
  __attribute__((                                                              \
      visibility("hidden"))) extern const cbridge_native_model Symbol;         \
  }                                                                            \
  constexpr cbridge_native_model Symbol

/// The function that a module of one model exports.
#define CBRIDGE_NATIVE_MODULE(Symbol)                                          \
  extern "C" const cbridge_module *cbridge_module_v1(                          \
      const cbridge_host *Host) {                                              \
    static constexpr const cbridge_native_model *Models[] = {&(Symbol),        \
                                                             nullptr};         \
    static constexpr cbridge_module Module = {                                 \
        sizeof(Module), CBRIDGE_MODULE_VERSION,                                \
        (Symbol).name,  nullptr,                                               \
        nullptr,        nullptr,                                               \
        Models};                                                               \
    return Host->version == CBRIDGE_MODULE_VERSION ? &Module : nullptr;        \
  }

#endif // CBRIDGE_NATIVEMODEL_H
