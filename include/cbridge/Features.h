//===- Features.h - Setting features by name --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_FEATURES_H
#define CBRIDGE_FEATURES_H

#include <cbridge/Number.h>

#include <cstring>
#include <iterator>

namespace cbridge {

class MLModelRunner;

/// Writes one feature of a runner; what populateFeatures is made of. Mistakes
/// are kept by the runner for its next evaluate.
class FeatureWriter {
public:
  FeatureWriter(MLModelRunner &Runner, std::string_view Name);

  void scalar(Number Value);
  void strings(Span<const std::string_view> Values);
  /// Where to collect Values: kept by the runner, so that it stops allocating.
  std::vector<std::string_view> &stringViews();
  /// Sizes the feature for Count elements of Type and gives the place to copy
  /// them to; null if that is a mistake.
  unsigned char *array(ElementType Type, size_t Count);
  /// The same for a matrix.
  unsigned char *matrix(ElementType Type, size_t Rows, size_t Columns);
  void raggedMatrix(size_t Row, size_t Columns, size_t Expected);

private:
  unsigned char *place(ElementType Type, Span<const int64_t> Extents,
                       size_t Count);
  MLModelRunner &Runner;
  size_t Index;
};

namespace detail {

template <typename T, typename = void> struct IsRange : std::false_type {};
template <typename T>
struct IsRange<T, std::void_t<decltype(std::begin(std::declval<const T &>())),
                              decltype(std::size(std::declval<const T &>()))>>
    : std::true_type {};

template <typename T>
using ValueOf = std::decay_t<decltype(*std::begin(std::declval<const T &>()))>;

template <typename Range>
void copyElements(const Range &Values, unsigned char *To) {
  for (const ValueOf<Range> &Value : Values) {
    std::memcpy(To, &Value, sizeof(Value));
    To += sizeof(Value);
  }
}

template <typename T>
void copyElements(const Span<const T> &Values, unsigned char *To) {
  if (!Values.empty())
    std::memcpy(To, Values.data(), Values.size() * sizeof(T));
}

template <typename Range, typename = void>
struct IsContiguous : std::false_type {};
template <typename Range>
struct IsContiguous<Range,
                    std::enable_if_t<std::is_same_v<
                        decltype(std::data(std::declval<const Range &>())),
                        const ValueOf<Range> *>>> : std::true_type {};

template <typename Range>
void copyRange(const Range &Values, unsigned char *To) {
  if constexpr (IsContiguous<Range>::value)
    copyElements(
        Span<const ValueOf<Range>>(std::data(Values), std::size(Values)), To);
  else
    copyElements(Values, To);
}

} // namespace detail

/// Sets the feature Name from a scalar, a string, or a range of scalars,
/// strings or ranges.
template <typename V>
void setFeature(MLModelRunner &Runner, std::string_view Name, const V &Value) {
  FeatureWriter Writer(Runner, Name);
  if constexpr (std::is_arithmetic_v<V> || std::is_enum_v<V>) {
    Writer.scalar(Value);
  } else if constexpr (std::is_convertible_v<const V &, std::string_view>) {
    std::string_view One = Value;
    Writer.strings({&One, 1});
  } else {
    static_assert(detail::IsRange<V>::value,
                  "a feature is a scalar, a string or a range of them");
    using Element = detail::ValueOf<V>;
    if constexpr (std::is_convertible_v<const Element &, std::string_view>) {
      std::vector<std::string_view> &Views = Writer.stringViews();
      Views.assign(std::begin(Value), std::end(Value));
      Writer.strings(Views);
    } else if constexpr (detail::IsRange<Element>::value) {
      using Inner = detail::ValueOf<Element>;
      size_t Rows = std::size(Value);
      size_t Columns = Rows ? std::size(*std::begin(Value)) : 0;
      unsigned char *To = Writer.matrix(elementTypeOf<Inner>(), Rows, Columns);
      size_t Row = 0;
      for (const Element &Each : Value) {
        if (std::size(Each) != Columns)
          return Writer.raggedMatrix(Row, std::size(Each), Columns);
        if (To && Columns)
          detail::copyRange(Each, To + Row * Columns * sizeof(Inner));
        ++Row;
      }
    } else {
      if (unsigned char *To =
              Writer.array(elementTypeOf<Element>(), std::size(Value)))
        detail::copyRange(Value, To);
    }
  }
}

} // namespace cbridge

#endif // CBRIDGE_FEATURES_H
