//===- CAbi.h - Our types as cbridge/module.h has them ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULE_CABI_H
#define CBRIDGE_MODULE_CABI_H

#include "channel/Frame.h"

#include <cbridge/Deadline.h>
#include <cbridge/Signature.h>
#include <cbridge/TensorStorage.h>
#include <cbridge/module.h>

#include <algorithm>
#include <cstring>

namespace cbridge::c {

// Used by both sides: the host that loads a module and a module in C++.

static_assert(CBRIDGE_MODEL_ERROR == int(StatusCode::ModelError) &&
              CBRIDGE_STRING == int(ElementType::String) &&
              CBRIDGE_MAX_RANK == MaxRank &&
              CBRIDGE_HEADER_SIZE == FrameHeader::Size);

inline int64_t deadline(Deadline D) {
  return D.end().time_since_epoch() / std::chrono::nanoseconds(1);
}
inline Deadline deadline(int64_t Nanoseconds) {
  return Deadline::at(
      Deadline::Clock::time_point(std::chrono::nanoseconds(Nanoseconds)));
}

inline cbridge_text text(std::string_view Text) {
  return {Text.data(), Text.size()};
}
inline std::string_view text(cbridge_text Text) {
  return {Text.data ? Text.data : "", Text.data ? Text.size : 0};
}

inline cbridge_bytes bytes(Bytes B) { return {B.data(), B.size()}; }
inline Bytes bytes(cbridge_bytes B) {
  return {static_cast<const unsigned char *>(B.data), B.size};
}

/// Tells the other side of S.
inline cbridge_code report(const Status &S, cbridge_error *To) {
  if (S.ok())
    return CBRIDGE_OK;
  size_t Size = std::min(S.message().size(), sizeof(To->message) - 1);
  std::memcpy(To->message, S.message().data(), Size);
  To->message[Size] = 0;
  return cbridge_code(S.code());
}

/// What the other side told; Who is it.
inline Status status(cbridge_code Code, const cbridge_error &Error,
                     const std::string &Who) {
  if (Code == CBRIDGE_OK)
    return Status();
  std::string Why(Error.message,
                  ::strnlen(Error.message, sizeof(Error.message)));
  if (Why.empty())
    Why = Who + " fails and does not say why";
  if (Code < 0 || Code > CBRIDGE_MODEL_ERROR)
    return Status::error(StatusCode::Unsupported,
                         Why + " (" + Who + " has the unknown code " +
                             std::to_string(Code) + ")");
  return Status::error(StatusCode(Code), std::move(Why));
}

/// A struct that the other side made, which may be an older and smaller one or
/// a newer and larger one. What it lacks is null.
template <typename T> T copied(const T *Theirs) {
  T Ours = {};
  std::memcpy(static_cast<void *>(&Ours), Theirs,
              std::min(Theirs->size, sizeof(T)));
  Ours.size = sizeof(T);
  return Ours;
}

inline cbridge_spec spec(const TensorSpec &Spec) {
  return {text(Spec.name()), int32_t(Spec.type()),
          uint32_t(Spec.shape().size()), Spec.shape().data()};
}
inline cbridge_tensor tensor(const TensorView &V) {
  return {V.Extents.data(), bytes(V.Data)};
}

/// Specs, and tensors, reused so that they stop allocating.
using Specs = std::vector<cbridge_spec>;
inline void fill(Specs &To, const std::vector<TensorSpec> &From) {
  To.clear();
  for (const TensorSpec &Each : From)
    To.push_back(spec(Each));
}
using Tensors = std::vector<cbridge_tensor>;
inline void fill(Tensors &To, Span<const TensorView> From) {
  To.clear();
  for (const TensorView &V : From)
    To.push_back(tensor(V));
}

} // namespace cbridge::c

#endif // CBRIDGE_MODULE_CABI_H
