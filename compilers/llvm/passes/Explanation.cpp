//===- Explanation.cpp - Which features moved a decision ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Explanation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cbridge::passes {

namespace {

/// A feature of one number.
double valueOf(const TensorSpec &Spec, Bytes Data) {
  if (Spec.type() == ElementType::Float) {
    float Value;
    std::memcpy(&Value, Data.data(), sizeof(Value));
    return Value;
  }
  int64_t Value;
  std::memcpy(&Value, Data.data(), sizeof(Value));
  return static_cast<double>(Value);
}

} // namespace

Expected<double> Explainer::answer() {
  Expected<Decision> D = Runner.evaluate();
  if (!D)
    return D.status();
  return D->get<double>(D->size() - 1);
}

std::vector<Influence> Explainer::explain(MLModelRunner &From, size_t Most) {
  const std::vector<TensorSpec> &Features = Runner.signature().inputs();
  for (size_t I = 0; I < Features.size(); ++I)
    std::memcpy(Runner.getTensorUntyped(I).data(),
                From.getTensorUntyped(I).data(),
                From.getTensorUntyped(I).size());
  std::vector<Influence> Found;
  Expected<double> Before = answer();
  if (!Before)
    return Found;
  for (size_t I = 0; I < Features.size(); ++I) {
    MutableBytes Data = Runner.getTensorUntyped(I);
    double Value = valueOf(Features[I], Data);
    if (Value == 0)
      continue;
    std::memset(Data.data(), 0, Data.size());
    if (Expected<double> Without = answer(); Without && *Without != *Before)
      Found.push_back({Features[I].name(), Value, *Before - *Without});
    std::memcpy(Data.data(), From.getTensorUntyped(I).data(), Data.size());
  }
  std::sort(Found.begin(), Found.end(),
            [](const Influence &A, const Influence &B) {
              double OfA = std::fabs(A.Moved), OfB = std::fabs(B.Moved);
              return OfA != OfB ? OfA > OfB : A.Feature < B.Feature;
            });
  if (Found.size() > Most)
    Found.resize(Most);
  return Found;
}

} // namespace cbridge::passes
