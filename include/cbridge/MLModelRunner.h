//===- MLModelRunner.h - A thread's handle on a model -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MLMODELRUNNER_H
#define CBRIDGE_MLMODELRUNNER_H

#include <cbridge/Decision.h>
#include <cbridge/Features.h>
#include <cbridge/Model.h>

namespace cbridge {

class Recorder;

/// A thread's handle on a Model: fill the features, evaluate, use the decision.
///
/// Features keep their values between decisions. A mistake in filling them (an
/// unknown name, a wrong type) does no harm at once: the next evaluate fails
/// and names it. Move-only; not thread-safe; make one per thread. Once sizes
/// have been reached before, a decision allocates nothing.
class MLModelRunner {
public:
  MLModelRunner(MLModelRunner &&) noexcept;
  MLModelRunner &operator=(MLModelRunner &&) noexcept;
  /// Ends the episode, if one is open.
  ~MLModelRunner();

  /// Sets features by name: `populateFeatures(std::pair{"blocks", 12}, …)`.
  /// Scalars convert where the value is preserved; strings, vectors, spans,
  /// arrays and matrices (ranges of ranges) must have the feature's element
  /// type. Dynamic features take the value's size. A pair holds a copy: for
  /// large data make it one of a Span.
  template <typename... Features>
  void populateFeatures(const Features &...Each) {
    (setFeature(*this, Each.first, Each.second), ...);
  }

  /// Feature I in place. Fixed features stay where they are; dynamic ones are
  /// valid until resized.
  template <typename T> Span<T> getTensor(size_t I) {
    if (I < Slots.size() && Slots[I].Type == elementTypeOf<T>())
      return {reinterpret_cast<T *>(Slots[I].Data), Slots[I].Size / sizeof(T)};
    MutableBytes Scratch = misusedTensor(I, elementTypeOf<T>());
    return {reinterpret_cast<T *>(Scratch.data()), Scratch.size() / sizeof(T)};
  }
  template <typename T> Span<T> getTensor(std::string_view Name) {
    return getTensor<T>(featureIndex(Name));
  }
  /// Feature I's bytes, whatever its type; empty if there is no such feature.
  MutableBytes getTensorUntyped(size_t I) {
    return I < Slots.size() ? MutableBytes(Slots[I].Data, Slots[I].Size)
                            : MutableBytes();
  }
  /// Gives a dynamic feature its extents, before getTensor.
  void resize(size_t I, Span<const int64_t> Extents);
  void resize(std::string_view Name, Span<const int64_t> Extents) {
    resize(featureIndex(Name), Extents);
  }

  /// The decision's first output as a T; see Decision for what T may be.
  template <typename T> Expected<T> evaluate() {
    if (Status S = decide(); !S)
      return S;
    if (Log)
      return recorded<T>();
    return Decision(signature(), *E).template get<T>();
  }
  /// All outputs by name.
  Expected<Decision> evaluate() {
    if (Status S = decide(); !S)
      return S;
    if (Log)
      recordDecision();
    return Decision(signature(), *E);
  }
  /// The model's decision, or Heuristic() if there is none. Never fails.
  template <typename T, typename Callable> T evaluateOr(Callable &&Heuristic) {
    Expected<T> Decided = evaluate<T>();
    if (Decided)
      return *Decided;
    noteFallback(Decided.status());
    T Taken = static_cast<T>(Heuristic());
    if (Log)
      recordTaken(Taken);
    return Taken;
  }
  /// Why the latest evaluateOr used the heuristic; Ok if it did not.
  const Status &lastError() const { return Last; }
  /// For callers of evaluate that fell back themselves: counts it, and tells
  /// the model's sink, as evaluateOr does.
  void noteFallback(const Status &Why);
  /// The same with what the caller decided instead, for the log: a T as
  /// evaluateOr takes it, or a Span of views of all outputs.
  template <typename T> void noteFallback(const Status &Why, const T &Taken) {
    noteFallback(Why);
    if (Log)
      recordTaken(Taken);
  }

  /// Names what is being compiled, for logs and for the peer.
  void switchContext(std::string_view Name) { Context = Name; }
  /// Tells how good the latest decision turned out to be: at most once per
  /// decision. Only logged if the model did not take it.
  Status reward(double Value);
  /// The decisions so far belong together and are over; Truncated, if a limit
  /// ended them.
  Status endEpisode(bool Truncated = false);

  /// Decisions must be indices at which Mask is true, until it is replaced or
  /// cleared by an empty one. Applies to output Output.
  void setMask(Span<const bool> Mask, size_t Output = 0);
  template <typename Bools, typename = std::enable_if_t<
                                std::is_same_v<Bools, std::vector<bool>>>>
  void setMask(const Bools &Mask, size_t Output = 0) {
    std::vector<unsigned char> Bytes(Mask.begin(), Mask.end());
    setMask(Span<const bool>(reinterpret_cast<const bool *>(Bytes.data()),
                             Bytes.size()),
            Output);
  }
  /// Decisions must lie in [Low, High].
  void setRange(double Low, double High, size_t Output = 0);
  void clearRange(size_t Output = 0);

  const Signature &signature() const { return M.signature(); }
  const Model &model() const { return M; }
  const ModelStats &stats() const { return Counts; }

private:
  friend class Model;
  friend class FeatureWriter;
  struct Slot {
    unsigned char *Data = nullptr;
    size_t Size = 0;
    ElementType Type = ElementType::UInt8;
  };
  struct Legal; // masks and ranges

  MLModelRunner(Model M, std::unique_ptr<Engine> E);
  size_t featureIndex(std::string_view Name);
  MutableBytes misusedTensor(size_t I, ElementType Wanted);
  void misuse(Status Why);
  void refreshSlot(size_t I, Span<const int64_t> Extents = {});
  Status decide();
  Status checkLegal();

  void recordDecision();
  template <typename T> Expected<T> recorded() {
    Expected<T> Value = Decision(signature(), *E).template get<T>();
    if (Value) // else the final decision is the pass's
      recordDecision();
    return Value;
  }
  /// What the pass decided, as output 0 or as all of them. What those cannot
  /// hold exactly is not recorded.
  template <typename T> void recordTaken(const T &Taken) {
    if constexpr (std::is_convertible_v<const T &, Span<const TensorView>>) {
      recordTensors(Taken);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      recordNumber(Taken);
    } else if constexpr (std::is_convertible_v<const T &, std::string_view>) {
      std::string_view One = Taken;
      recordStrings({&One, 1});
    } else {
      using Element = detail::ValueOf<T>;
      if constexpr (std::is_convertible_v<const Element &, std::string_view>) {
        StringViews.assign(std::begin(Taken), std::end(Taken));
        recordStrings(StringViews);
      } else if constexpr (detail::IsContiguous<T>::value) {
        recordArray(elementTypeOf<Element>(),
                    {reinterpret_cast<const unsigned char *>(std::data(Taken)),
                     std::size(Taken) * sizeof(Element)});
      } else { // std::vector<bool>
        std::vector<unsigned char> Bytes(Taken.begin(), Taken.end());
        recordArray(elementTypeOf<Element>(), Bytes);
      }
    }
  }
  void recordTensors(Span<const TensorView> Taken);
  void recordNumber(Number Taken);
  void recordStrings(Span<const std::string_view> Taken);
  void recordArray(ElementType Type, Bytes Elements);

  Model M;
  std::unique_ptr<Engine> E;
  std::vector<Slot> Slots;
  std::unique_ptr<Legal> Rules;
  std::unique_ptr<Recorder> Log; // if decisions are recorded
  std::vector<unsigned char> Scratch;
  std::vector<std::string_view> StringViews; // only while a feature is set
  std::string Context;
  Status Misuse, Last;
  ModelStats Counts;
  std::optional<double> PendingReward;
  enum { Nothing, Failed, Decided, Rewarded } Latest = Nothing;
  bool EpisodeOpen = false;
};

} // namespace cbridge

#endif // CBRIDGE_MLMODELRUNNER_H
