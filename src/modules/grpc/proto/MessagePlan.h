//===- MessagePlan.h - The bound part of a message --------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_MESSAGEPLAN_H
#define CBRIDGE_MODULES_GRPC_PROTO_MESSAGEPLAN_H

#include "modules/grpc/proto/FieldBinding.h"

namespace cbridge {

/// The tree of messages that have bound fields. Node 0 is the message itself.
struct MessagePlan {
  /// A field that is bound, or leads to some that are.
  struct Entry {
    Field F = nullptr;
    int Tensor = -1; ///< the binding, or
    int Child = -1;  ///< the node
  };
  struct Node {
    std::vector<Entry> Entries; ///< by field number
    /// Fields of a oneof whose coming takes away the entry.
    std::vector<std::pair<uint32_t, size_t>> Clears;
    std::vector<size_t> Tensors; ///< all below
    std::vector<size_t> Nodes;   ///< all below, and this one
    bool InEach = false;         ///< a repeated message, or in one

    const Entry *find(uint32_t Number) const;
    const Entry *cleared(uint32_t Number) const;
  };

  MessagePlan() = default;
  MessagePlan(const MessageType *Top, const std::vector<FieldBinding> &Bound);

  std::vector<Node> Nodes;
  /// The nodes on the way to each tensor: from the top to its repeated message
  /// or to its leaf, and on from there.
  std::vector<std::vector<size_t>> Outer, Inner;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_MESSAGEPLAN_H
