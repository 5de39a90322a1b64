//===- Features.cpp - Setting features by name ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include "runner/InferExtents.h"
#include "runner/Recorder.h"

namespace cbridge {

bool inferExtents(const TensorSpec &Spec, size_t Count,
                  int64_t (&Extents)[MaxRank]) {
  size_t Known = 1;
  int64_t *Unknown = nullptr;
  for (size_t D = 0; D < Spec.shape().size(); ++D) {
    Extents[D] = Spec.shape()[D];
    if (Extents[D] != Dynamic)
      Known *= size_t(Extents[D]);
    else if (Unknown)
      return false;
    else
      Unknown = &Extents[D];
  }
  if (!Unknown)
    return Count == Known;
  *Unknown = Known ? int64_t(Count / Known) : 0;
  return size_t(*Unknown) * Known == Count;
}

FeatureWriter::FeatureWriter(MLModelRunner &Runner, std::string_view Name)
    : Runner(Runner), Index(Runner.featureIndex(Name)) {}

void FeatureWriter::scalar(Number Value) {
  if (Index >= Runner.Slots.size())
    return;
  const TensorSpec &Spec = Runner.signature().inputs()[Index];
  if (Spec.isString())
    return Runner.misuse(
        Status::error(StatusCode::TypeMismatch, "feature '" + Spec.name() +
                                                    "' holds strings, got " +
                                                    Value.toString()));
  unsigned char Element[sizeof(int64_t)];
  if (Value.store(Spec.type(), Element)) {
    if (unsigned char *To = place(Spec.type(), {}, 1))
      std::memcpy(To, Element, sizeOf(Spec.type()));
  } else {
    Runner.misuse(Status::error(StatusCode::TypeMismatch,
                                "feature '" + Spec.name() +
                                    "': " + Value.toString() +
                                    " cannot be kept exactly as " +
                                    std::string(toString(Spec.type()))));
  }
}

void FeatureWriter::strings(Span<const std::string_view> Values) {
  if (Index >= Runner.Slots.size())
    return;
  const TensorSpec &Spec = Runner.signature().inputs()[Index];
  if (!Spec.isString())
    return Runner.misuse(Status::error(
        StatusCode::TypeMismatch, "feature '" + Spec.name() + "' is " +
                                      Spec.typeAndShape() + ", got strings"));
  int64_t Extents[MaxRank];
  if (!inferExtents(Spec, Values.size(), Extents))
    return Runner.misuse(Status::error(
        StatusCode::ShapeMismatch,
        "feature '" + Spec.name() + "' is " + Spec.typeAndShape() + ", got " +
            std::to_string(Values.size()) + " strings"));
  if (Status S =
          Runner.E->setStrings(Index, Values, {Extents, Spec.shape().size()});
      !S)
    return Runner.misuse(std::move(S));
  if (Runner.Log)
    Runner.Log->setStrings(Index, Values, {Extents, Spec.shape().size()});
  Runner.refreshSlot(Index, {Extents, Spec.shape().size()});
}

std::vector<std::string_view> &FeatureWriter::stringViews() {
  return Runner.StringViews;
}

unsigned char *FeatureWriter::array(ElementType Type, size_t Count) {
  return place(Type, {}, Count);
}

unsigned char *FeatureWriter::matrix(ElementType Type, size_t Rows,
                                     size_t Columns) {
  if (Index >= Runner.Slots.size())
    return nullptr;
  Span<const int64_t> Shape = Runner.signature().inputs()[Index].shape();
  int64_t Extents[2] = {int64_t(Rows), int64_t(Columns)};
  if (Rows == 0 && Shape.size() == 2 && Shape[1] != Dynamic)
    Extents[1] = Shape[1]; // no row tells how long it would be
  return place(Type, Extents, Rows * Columns);
}

void FeatureWriter::raggedMatrix(size_t Row, size_t Columns, size_t Expected) {
  if (Index < Runner.Slots.size())
    Runner.misuse(Status::error(
        StatusCode::ShapeMismatch,
        "feature '" + Runner.signature().inputs()[Index].name() + "': row " +
            std::to_string(Row) + " has " + std::to_string(Columns) +
            " elements, row 0 has " + std::to_string(Expected)));
}

/// Without Extents they follow from the count, if at most one is dynamic.
unsigned char *FeatureWriter::place(ElementType Type,
                                    Span<const int64_t> Extents, size_t Count) {
  if (Index >= Runner.Slots.size())
    return nullptr;
  const TensorSpec &Spec = Runner.signature().inputs()[Index];
  auto Refuse = [&](StatusCode Code, const std::string &Got) {
    Runner.misuse(Status::error(Code, "feature '" + Spec.name() + "' is " +
                                          Spec.typeAndShape() + ", got " +
                                          Got));
    return nullptr;
  };
  if (Spec.type() != Type)
    return Refuse(StatusCode::TypeMismatch, std::string(toString(Type)));

  int64_t Inferred[MaxRank];
  if (Extents.empty()) {
    if (!inferExtents(Spec, Count, Inferred))
      return Refuse(StatusCode::ShapeMismatch,
                    std::to_string(Count) + " elements");
    Extents = {Inferred, Spec.shape().size()};
  }
  if (!Spec.isFixed()) {
    if (Status S = Runner.E->resize(Index, Extents); !S) {
      Runner.misuse(std::move(S));
      return nullptr;
    }
    Runner.refreshSlot(Index, Extents);
  } else if (Status S = Spec.checkExtents(Extents); !S) {
    Runner.misuse(std::move(S));
    return nullptr;
  }
  return Runner.Slots[Index].Data;
}

} // namespace cbridge
