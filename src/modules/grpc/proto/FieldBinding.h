//===- FieldBinding.h - Which field of a message a tensor is ----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_FIELDBINDING_H
#define CBRIDGE_MODULES_GRPC_PROTO_FIELDBINDING_H

#include "modules/grpc/proto/ProtoTypes.h"

namespace cbridge {

enum class Direction { Sent, Received };

/// Where one tensor lies in a message: docs/guide/own-proto.md has the rules.
struct FieldBinding {
  /// Who is who in messages: "input 'x'".
  std::string Who;
  TensorSpec Spec;
  /// "nodes.size".
  std::string Path;
  /// Messages on the way to the leaf. Each is repeated: then the tensor's first
  /// extent counts its messages, and Inner is the way on from one of them.
  std::vector<Field> Outer;
  Field Each = nullptr;
  std::vector<Field> Inner;
  Field Leaf = nullptr;
  /// What it lies in, for messages: "reply".
  const char *In = "";
  /// Bindings with the same Each have the same one.
  size_t Group = 0;

  /// What one leaf holds of the shape.
  Span<const int64_t> leafShape() const {
    return Each ? Spec.shape().subspan(1, Spec.shape().size() - 1)
                : Spec.shape();
  }
  /// The leaf holds the elements as they lie in memory.
  bool isRaw() const {
    return Leaf->Kind == ProtoKind::Bytes && !Spec.isString();
  }
  bool isEnum() const { return Leaf->Kind == ProtoKind::Enum; }
  Status error(StatusCode Code, const std::string &Why) const {
    return Status::error(Code, Who + ": " + Why);
  }
  Status missing() const {
    return error(StatusCode::ShapeMismatch,
                 "the " + std::string(In) + " has no '" + Path + "'");
  }
};

/// Fields that have no tensor, but a meaning by their name, at the top; null if
/// there is none. `done` counts as terminated.
struct BesideFields {
  Field Step = nullptr, Runner = nullptr, Context = nullptr, Reward = nullptr;
  Field Terminated = nullptr, Truncated = nullptr;
};

/// The fields of To that the tensors Specs are. What: "input", "output". In:
/// "request", "reply".
Expected<std::vector<FieldBinding>>
bindFields(const MessageType *To, const std::vector<TensorSpec> &Specs,
           Direction Way, const char *What, const char *In);
/// What is left for those that have a meaning.
BesideFields bindBeside(const MessageType *To,
                        const std::vector<FieldBinding> &Bound);
/// Of a message that is sent: nothing that its reader requires is left out.
Status checkRequired(const MessageType *To,
                     const std::vector<FieldBinding> &Bound,
                     const BesideFields &Beside, const char *What);

/// Whether every value of one type is one of the other.
constexpr bool fits(ElementType From, ElementType To) {
  if (From == To)
    return true;
  auto IsInt = [](ElementType T) {
    return T >= ElementType::Int8 && T <= ElementType::UInt64;
  };
  auto IsSigned = [](ElementType T) { return T <= ElementType::Int64; };
  auto Bits = [](ElementType T) {
    return 8 << ((int(T) - int(ElementType::Int8)) % 4);
  };
  if (From == ElementType::Float)
    return To == ElementType::Double;
  if (!IsInt(From))
    return false;
  if (To == ElementType::Float || To == ElementType::Double)
    return Bits(From) <= (To == ElementType::Float ? 16 : 32);
  if (!IsInt(To) || (IsSigned(From) && !IsSigned(To)))
    return false;
  return IsSigned(From) == IsSigned(To) ? Bits(From) <= Bits(To)
                                        : Bits(From) < Bits(To);
}

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_FIELDBINDING_H
