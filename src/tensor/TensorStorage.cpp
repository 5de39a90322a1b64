//===- TensorStorage.cpp - Memory for a list of tensors -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/TensorStorage.h>

#include "core/AlignedBuffer.h"
#include "os/Region.h"
#include "tensor/TensorMemory.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cbridge {

namespace {

uint64_t offsetAt(Bytes Data, size_t I) {
  uint64_t Offset;
  std::memcpy(&Offset, Data.data() + I * sizeof(Offset), sizeof(Offset));
  return Offset;
}

Status tooLarge(const TensorSpec &Spec, size_t Size) {
  return Status::error(StatusCode::OutOfMemory,
                       "'" + Spec.name() + "': " + std::to_string(Size) +
                           " bytes are above the cap of " +
                           std::to_string(TensorStorage::MaxTensorBytes));
}

struct Tensor {
  std::array<int64_t, MaxRank> Extents{};
  os::Region Memory; // of dynamic and string tensors
  unsigned char *Data = nullptr;
  size_t Size = 0;
};

} // namespace

size_t TensorView::elementCount() const {
  size_t Count = 1;
  for (int64_t Extent : Extents)
    Count *= size_t(Extent);
  return Count;
}

std::string_view TensorView::string(size_t I) const {
  assert(Spec->isString() && I < elementCount() && "no such string");
  size_t Table = (elementCount() + 1) * sizeof(uint64_t);
  uint64_t Begin = offsetAt(Data, I), End = offsetAt(Data, I + 1);
  return {reinterpret_cast<const char *>(Data.data()) + Table + Begin,
          size_t(End - Begin)};
}

Status checkStringTensor(Bytes Data, size_t Count) {
  auto Bad = [](const char *Why) {
    return Status::error(StatusCode::Protocol,
                         std::string("malformed strings: ") + Why);
  };
  if (Count >= Data.size() / sizeof(uint64_t))
    return Bad("too few offsets");
  size_t Characters = Data.size() - (Count + 1) * sizeof(uint64_t);
  uint64_t Last = 0;
  for (size_t I = 0; I <= Count; ++I) {
    uint64_t Offset = offsetAt(Data, I);
    if (Offset < Last || Offset > Characters || (I == 0 && Offset != 0))
      return Bad("offsets out of order");
    Last = Offset;
  }
  if (Last != Characters)
    return Bad("characters after the last string");
  return Status();
}

struct TensorStorage::Tensors {
  std::vector<TensorSpec> Specs;
  std::vector<Tensor> Each;
  std::vector<TensorView> Views;
  AlignedBuffer Fixed;
  os::Region SharedFixed;
  Status Failure;

  explicit Tensors(std::vector<TensorSpec> S) : Specs(std::move(S)) {
    Each.resize(Specs.size());
    Views.resize(Specs.size());
  }
  void publish(size_t I) {
    Views[I].Spec = &Specs[I];
    Views[I].Extents = {Each[I].Extents.data(), Specs[I].shape().size()};
    Views[I].Data = {Each[I].Data, Each[I].Size};
  }
  /// Room for Size bytes and their padding in tensor I's own range.
  Status grow(size_t I, size_t Size) {
    if (Size > MaxTensorBytes)
      return tooLarge(Specs[I], Size);
    Tensor &T = Each[I];
    if (Status S = T.Memory.grow(alignUp(Size), MaxTensorBytes); !S)
      return S.withContext("'" + Specs[I].name() + "'");
    T.Data = T.Memory.data();
    T.Size = Size;
    // What lies behind is sent along: it must not be an earlier value.
    if (size_t Padding = alignUp(Size) - Size)
      std::memset(T.Data + Size, 0, Padding);
    return Status();
  }
};

static Expected<size_t> fixedBytes(const std::vector<TensorSpec> &Specs) {
  size_t Total = 0;
  for (const TensorSpec &Spec : Specs) {
    size_t Size =
        Spec.isFixed() ? Spec.elementCount() * sizeOf(Spec.type()) : 0;
    if (Size > TensorStorage::MaxTensorBytes - Total)
      return tooLarge(Spec, Size);
    Total = std::min(Total + alignUp(Size), TensorStorage::MaxTensorBytes);
  }
  return Total;
}

TensorPlan::TensorPlan(const std::vector<TensorSpec> &Specs)
    : FixedBytes(fixedBytes(Specs).valueOr(0)) {
  for (const TensorSpec &Spec : Specs)
    Growing += !Spec.isFixed();
}

TensorStorage::TensorStorage(std::vector<TensorSpec> Specs)
    : T(std::make_unique<Tensors>(std::move(Specs))) {
  allocate(nullptr);
}

TensorStorage::TensorStorage(std::vector<TensorSpec> Specs, TensorMemory &In)
    : T(std::make_unique<Tensors>(std::move(Specs))) {
  allocate(&In);
}

/// Zeroed memory for all fixed tensors.
static Expected<unsigned char *> allocateFixed(size_t Size, TensorMemory *In,
                                               AlignedBuffer &Buffer,
                                               os::Region &Shared) {
  if (In && Size) {
    Expected<os::Region> Made = In->reserve(Size);
    if (!Made)
      return Made.status();
    Shared = std::move(*Made);
    if (Status S = Shared.grow(Size, Size); !S)
      return S;
    return Shared.data();
  }
  if (!Buffer.reserve(Size, 0))
    return Status::error(StatusCode::OutOfMemory, "no memory for tensors of " +
                                                      std::to_string(Size) +
                                                      " bytes");
  if (Size)
    std::memset(Buffer.data(), 0, Size);
  return Buffer.data();
}

void TensorStorage::allocate(TensorMemory *In) {
  Expected<size_t> Total = fixedBytes(T->Specs);
  Expected<unsigned char *> Fixed =
      Total ? allocateFixed(*Total, In, T->Fixed, T->SharedFixed)
            : Expected<unsigned char *>(Total.status());
  if (!Fixed)
    T->Failure = Fixed.status();

  size_t Offset = 0;
  for (size_t I = 0; I < T->Specs.size(); ++I) {
    const TensorSpec &Spec = T->Specs[I];
    Tensor &Each = T->Each[I];
    for (size_t D = 0; D < Spec.shape().size(); ++D)
      Each.Extents[D] = Spec.shape()[D] == Dynamic ? 0 : Spec.shape()[D];
    if (Spec.isFixed() && T->Failure.ok()) {
      Each.Data = *Fixed + Offset;
      Each.Size = Spec.elementCount() * sizeOf(Spec.type());
      Offset += alignUp(Each.Size);
    } else if (In && T->Failure.ok()) {
      Expected<os::Region> Made = In->reserve(MaxTensorBytes);
      if (Made)
        Each.Memory = std::move(*Made);
      else
        T->Failure = Made.status();
    }
    // As many empty strings as the extents say: all offsets are zero.
    if (Spec.isString() && T->Failure.ok())
      T->Failure = T->grow(I, (Spec.elementCount() + 1) * sizeof(uint64_t));
    T->publish(I);
  }
}

TensorStorage::TensorStorage(TensorStorage &&) noexcept = default;
TensorStorage &TensorStorage::operator=(TensorStorage &&) noexcept = default;
TensorStorage::~TensorStorage() = default;

const Status &TensorStorage::status() const { return T->Failure; }
size_t TensorStorage::size() const { return T->Specs.size(); }
const TensorSpec &TensorStorage::spec(size_t I) const { return T->Specs[I]; }

const std::vector<TensorSpec> &TensorStorage::specs() const { return T->Specs; }

MutableBytes TensorStorage::bytes(size_t I) {
  return {T->Each[I].Data, T->Each[I].Size};
}

TensorView TensorStorage::view(size_t I) const { return T->Views[I]; }
Span<const TensorView> TensorStorage::views() const { return T->Views; }

Status TensorStorage::resize(size_t I, Span<const int64_t> Extents) {
  const TensorSpec &Spec = T->Specs[I];
  if (Status S = Spec.checkExtents(Extents); !S)
    return S;
  if (Spec.isFixed())
    return Status();
  if (Spec.isString())
    return Status::error(StatusCode::InvalidArgument,
                         "'" + Spec.name() +
                             "' holds strings: fill it by name");
  Expected<size_t> Count = cbridge::elementCount(Extents);
  if (!Count)
    return Count.status().withContext("'" + Spec.name() + "'");
  if (Status S = T->grow(I, *Count * sizeOf(Spec.type())); !S)
    return S;
  for (size_t D = 0; D < Extents.size(); ++D)
    T->Each[I].Extents[D] = Extents[D];
  T->publish(I);
  return Status();
}

Status TensorStorage::setStrings(size_t I, Span<const std::string_view> Values,
                                 Span<const int64_t> Extents) {
  const TensorSpec &Spec = T->Specs[I];
  if (!Spec.isString())
    return Status::error(StatusCode::TypeMismatch, "'" + Spec.name() + "' is " +
                                                       Spec.typeAndShape() +
                                                       ", got strings");
  if (Status S = Spec.checkExtents(Extents); !S)
    return S;
  Expected<size_t> Count = cbridge::elementCount(Extents);
  if (!Count || *Count != Values.size())
    return Status::error(StatusCode::ShapeMismatch,
                         "'" + Spec.name() +
                             "': " + std::to_string(Values.size()) +
                             " strings do not fill its shape");
  size_t Table = (Values.size() + 1) * sizeof(uint64_t);
  size_t Size = Table;
  for (std::string_view V : Values)
    Size += V.size();
  if (Status S = T->grow(I, Size); !S)
    return S;
  Tensor &Each = T->Each[I];
  uint64_t Offset = 0;
  for (size_t V = 0; V <= Values.size(); ++V) {
    std::memcpy(Each.Data + V * sizeof(Offset), &Offset, sizeof(Offset));
    if (V == Values.size())
      break;
    if (!Values[V].empty())
      std::memcpy(Each.Data + Table + Offset, Values[V].data(),
                  Values[V].size());
    Offset += Values[V].size();
  }
  for (size_t D = 0; D < Extents.size(); ++D)
    Each.Extents[D] = Extents[D];
  T->publish(I);
  return Status();
}

Status TensorStorage::assign(size_t I, const TensorView &From) {
  const TensorSpec &Spec = T->Specs[I];
  assert(From.Spec->type() == Spec.type() && "assign between element types");
  Tensor &Each = T->Each[I];
  if (Status S = Spec.checkExtents(From.Extents); !S)
    return S;
  if (!Spec.isFixed()) {
    if (Status S = T->grow(I, From.Data.size()); !S)
      return S;
    for (size_t D = 0; D < From.Extents.size(); ++D)
      Each.Extents[D] = From.Extents[D];
    T->publish(I);
  }
  assert(Each.Size == From.Data.size());
  if (Each.Size)
    std::memcpy(Each.Data, From.Data.data(), Each.Size);
  return Status();
}

} // namespace cbridge
