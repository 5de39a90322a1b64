//===- MessageWriter.h - Tensors into a user's message ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_MESSAGEWRITER_H
#define CBRIDGE_MODULES_GRPC_PROTO_MESSAGEWRITER_H

#include "modules/grpc/proto/MessagePlan.h"
#include "modules/grpc/wire/MethodMessages.h"

namespace cbridge {

/// Writes messages that have these tensors and what is told beside them.
class MessageWriter {
public:
  MessageWriter(const std::vector<FieldBinding> &Bound, const MessagePlan &Plan,
                const BesideFields &Beside)
      : Bound(Bound), Plan(Plan), Fields(Beside) {}

  /// Fails if a field cannot hold a value, or if counts contradict each other.
  /// Without features, what is required is zero.
  Status write(Span<const TensorView> Features, const Told &Beside,
               Message &To);

private:
  Status check(Span<const TensorView> Features);
  Status checkValues(const FieldBinding &B, const TensorView &V) const;
  Status checkBeside(const Told &Beside) const;
  template <typename Sink> void putAll(Sink &To, const Told &Beside) const;
  template <typename Sink>
  void putNode(Sink &To, size_t Node, size_t Element) const;
  template <typename Sink>
  void putTensor(Sink &To, size_t Tensor, size_t Element) const;
  template <typename Sink> void putBeside(Sink &To, const Told &Beside) const;
  template <typename Sink> void putZeros(Sink &To, size_t Node) const;

  const std::vector<FieldBinding> &Bound;
  const MessagePlan &Plan;
  const BesideFields &Fields;
  Span<const TensorView> Views;
  struct Group {
    const FieldBinding *First = nullptr;
    size_t Count = 0;
  };
  std::vector<Group> Groups;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_MESSAGEWRITER_H
