//===- AdviceRules.cpp - What LLVM takes for an answer --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AdviceRules.h"

#include <algorithm>
#include <cmath>

namespace cbridge {

namespace {

// LLVM makes an unsigned of it: this is the largest float below 2^32.
constexpr float MostPriority = 4294967040.0F;

bool isOne(const TensorSpec &Spec, ElementType Type) {
  return Spec.type() == Type && Spec.isFixed() && Spec.elementCount() == 1;
}

std::optional<size_t> find(const Signature &Sig, std::string_view Name,
                           ElementType Type) {
  std::optional<size_t> I = Sig.inputIndex(Name);
  return I && Sig.inputs()[*I].type() == Type ? I : std::nullopt;
}

template <typename T> T read(Bytes Advice) {
  T Value;
  std::memcpy(&Value, Advice.data(), sizeof(T));
  return Value;
}

} // namespace

AdviceRules::AdviceRules(const Signature &Sig) {
  const TensorSpec &Advice = Sig.outputs()[0];
  if (Advice.name() == "inlining_decision" &&
      isOne(Advice, ElementType::Int64)) {
    K = Kind::Inlining;
  } else if (Advice.name() == "index_to_evict" &&
             isOne(Advice, ElementType::Int64)) {
    std::optional<size_t> Found = find(Sig, "mask", ElementType::Int64);
    if (!Found || Sig.inputs()[*Found].elementCount() == 0)
      return;
    K = Kind::Eviction;
    Mask = *Found;
    size_t Positions = Sig.inputs()[Mask].elementCount();
    auto PerPosition = [&](std::string_view Name, ElementType Type) {
      std::optional<size_t> I = find(Sig, Name, Type);
      return I && Sig.inputs()[*I].elementCount() == Positions ? I
                                                               : std::nullopt;
    };
    Weight = PerPosition("use_def_density", ElementType::Float);
    BrokenHints = PerPosition("nr_broken_hints", ElementType::Float);
  } else if (Advice.name() == "priority" && isOne(Advice, ElementType::Float)) {
    K = Kind::Priority;
    auto Scalar = [&](std::string_view Name) {
      std::optional<size_t> I = find(Sig, Name, ElementType::Int64);
      return I && Sig.inputs()[*I].elementCount() == 1 ? I : std::nullopt;
    };
    Size = Scalar("li_size");
    Stage = Scalar("stage");
  }
}

bool AdviceRules::isLegal(Span<const TensorView> Features, Bytes Advice) const {
  switch (K) {
  case Kind::Unknown:
    return true;
  case Kind::Inlining: {
    auto Value = read<int64_t>(Advice);
    return Value == 0 || Value == 1;
  }
  case Kind::Eviction: {
    Span<const int64_t> Allowed = Features[Mask].as<int64_t>();
    auto Value = read<int64_t>(Advice);
    return Value >= 0 && uint64_t(Value) < Allowed.size() &&
           Allowed[size_t(Value)] != 0;
  }
  case Kind::Priority: {
    auto Value = read<float>(Advice);
    return Value >= 0 && Value <= MostPriority; // neither is true of NaN
  }
  }
  return true;
}

void AdviceRules::restrict(MLModelRunner &Runner,
                           Span<const TensorView> Features) const {
  if (K == Kind::Inlining)
    Runner.setRange(0, 1);
  if (K == Kind::Priority)
    Runner.setRange(0, MostPriority);
  if (K == Kind::Eviction) {
    Span<const int64_t> Allowed = Features[Mask].as<int64_t>();
    std::vector<bool> Bools(Allowed.size());
    std::transform(Allowed.begin(), Allowed.end(), Bools.begin(),
                   [](int64_t Value) { return Value != 0; });
    Runner.setMask(Bools);
  }
}

/// As LLVM: the range with the fewest broken hints, then with the least
/// weight; but the last position, which is the asking range itself ("evict
/// nothing"), unless that weighs more. It is masked if something must go.
int64_t AdviceRules::defaultEviction(Span<const TensorView> Features) const {
  Span<const int64_t> Allowed = Features[Mask].as<int64_t>();
  size_t Own = Allowed.size() - 1;
  auto At = [&](std::optional<size_t> Feature, size_t Position) {
    return Feature ? Features[*Feature].as<float>()[Position] : 0.0F;
  };
  std::optional<size_t> Best;
  for (size_t I = 0; I < Own; ++I) {
    if (!Allowed[I])
      continue;
    if (!Best || At(BrokenHints, I) < At(BrokenHints, *Best) ||
        (At(BrokenHints, I) == At(BrokenHints, *Best) &&
         At(Weight, I) < At(Weight, *Best)))
      Best = I;
  }
  if (!Best)
    return int64_t(Own);
  bool Worthwhile =
      At(BrokenHints, *Best) == 0 && At(Weight, *Best) < At(Weight, Own);
  return int64_t(Allowed[Own] && !Worthwhile ? Own : *Best);
}

/// As LLVM: long ranges first, and behind all others those that wait to be
/// split.
float AdviceRules::defaultPriority(Span<const TensorView> Features) const {
  constexpr int64_t StageOfSplitting = 2; // RS_Split
  constexpr int64_t Most = 1 << 23;       // a float holds twice that exactly
  int64_t Length = Size ? Features[*Size].as<int64_t>()[0] : 0;
  bool Waits = Stage && Features[*Stage].as<int64_t>()[0] == StageOfSplitting;
  return float(std::clamp<int64_t>(Length, 0, Most) + (Waits ? 0 : Most));
}

void AdviceRules::writeDefault(Span<const TensorView> Features,
                               MutableBytes Advice) const {
  std::fill(Advice.begin(), Advice.end(), 0);
  if (K == Kind::Eviction) {
    int64_t Value = defaultEviction(Features);
    std::memcpy(Advice.data(), &Value, sizeof(Value));
  } else if (K == Kind::Priority) {
    float Value = defaultPriority(Features);
    std::memcpy(Advice.data(), &Value, sizeof(Value));
  }
}

} // namespace cbridge
