//===- MessageReader.h - Tensors out of a user's message --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_MESSAGEREADER_H
#define CBRIDGE_MODULES_GRPC_PROTO_MESSAGEREADER_H

#include "modules/grpc/proto/MessagePlan.h"
#include "serdes/Serializer.h"

#include <optional>

namespace cbridge {

/// Reads messages that come from outside. Fields that are not bound are
/// skipped, wherever they are. Takes no more memory than a message's size
/// times 24, and none once sizes have been reached.
class MessageReader {
public:
  MessageReader(const std::vector<FieldBinding> &Bound, const MessagePlan &Plan,
                Field Step)
      : Bound(Bound), Plan(Plan), StepField(Step) {}

  /// Takes the message apart. Protocol: it is none.
  Status read(Bytes From);
  /// The field for the step, if it was there.
  const std::optional<uint64_t> &step() const { return Step; }
  /// What has been read as tensors, if it is all that is bound.
  Status take(DecodedTensors &To);

private:
  /// What has come for a tensor.
  struct Slot {
    std::vector<unsigned char> Data;     ///< elements, or
    std::vector<std::string_view> Texts; ///< strings
    size_t Texted = 0;                   ///< their characters
    size_t Leaves = 0, OfFirst = 0;      ///< messages with a leaf; in the first
    size_t InLeaf = 0;                   ///< elements of the current one
    bool Present = false;
    Status Why; ///< the first mistake
    std::array<int64_t, MaxRank> Extents = {};

    size_t count(size_t Element) const {
      return Element ? Data.size() / Element : Texts.size();
    }
  };

  bool message(size_t Node, Bytes From);
  bool leaf(size_t Tensor, const wire::Reader &R);
  bool packed(size_t Tensor, Bytes From);
  void number(size_t Tensor, uint64_t Value);
  void text(size_t Tensor, Bytes From);
  void raw(size_t Tensor, Bytes From);
  /// Forgets what the current leaf has.
  void drop(size_t Tensor);
  void clear(const MessagePlan::Node &In, const MessagePlan::Entry &E);
  void beginElement(size_t Node);
  /// The current leaf is complete.
  void finishLeaf(size_t Tensor, const std::vector<size_t> &Way);
  void mistake(size_t Tensor, Status Why) {
    if (Slots[Tensor].Why.ok())
      Slots[Tensor].Why = std::move(Why);
  }
  Status finish(size_t Tensor);
  bool seen(const std::vector<size_t> &Way) const;
  size_t elementSize(size_t Tensor) const {
    return sizeOf(Bound[Tensor].Spec.type());
  }

  const std::vector<FieldBinding> &Bound;
  const MessagePlan &Plan;
  const Field StepField;
  std::optional<uint64_t> Step;
  std::vector<Slot> Slots;
  std::vector<char> Seen; ///< nodes that are there
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_MESSAGEREADER_H
