//===- MessagePlan.cpp - The bound part of a message ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/MessagePlan.h"

#include <algorithm>

namespace cbridge {

const MessagePlan::Entry *MessagePlan::Node::find(uint32_t Number) const {
  auto Found = std::lower_bound(
      Entries.begin(), Entries.end(), Number,
      [](const Entry &E, uint32_t N) { return E.F->Number < N; });
  return Found != Entries.end() && Found->F->Number == Number ? &*Found
                                                              : nullptr;
}

const MessagePlan::Entry *MessagePlan::Node::cleared(uint32_t Number) const {
  for (const auto &[Other, I] : Clears)
    if (Other == Number)
      return &Entries[I];
  return nullptr;
}

MessagePlan::MessagePlan(const MessageType *Top,
                         const std::vector<FieldBinding> &Bound)
    : Nodes(1) {
  std::vector<const MessageType *> Types = {Top};
  auto Enter = [&](size_t From, Field F) -> size_t {
    for (const Entry &E : Nodes[From].Entries)
      if (E.F == F)
        return size_t(E.Child);
    size_t Made = Nodes.size();
    Nodes.emplace_back();
    Types.push_back(F->Message);
    Nodes[From].Entries.push_back({F, -1, int(Made)});
    return Made;
  };
  for (size_t T = 0; T < Bound.size(); ++T) {
    const FieldBinding &B = Bound[T];
    std::vector<size_t> Way = {0};
    auto Go = [&](Field F) { Way.push_back(Enter(Way.back(), F)); };
    Outer.emplace_back();
    Inner.emplace_back();
    for (Field F : B.Outer)
      Go(F);
    Outer.back() = Way;
    if (B.Each)
      Go(B.Each);
    size_t Each = Way.size() - 1;
    for (Field F : B.Inner)
      Go(F);
    Inner.back().assign(Way.begin() + long(Outer.back().size()), Way.end());
    for (size_t I = 0; I < Way.size(); ++I) {
      Node &On = Nodes[Way[I]];
      On.Tensors.push_back(T);
      On.InEach = B.Each && I >= Each;
      for (size_t Below = I; Below < Way.size(); ++Below)
        if (std::find(On.Nodes.begin(), On.Nodes.end(), Way[Below]) ==
            On.Nodes.end())
          On.Nodes.push_back(Way[Below]);
    }
    Nodes[Way.back()].Entries.push_back({B.Leaf, int(T), -1});
  }
  for (size_t N = 0; N < Nodes.size(); ++N) {
    Node &On = Nodes[N];
    std::sort(On.Entries.begin(), On.Entries.end(),
              [](const Entry &A, const Entry &B) {
                return A.F->Number < B.F->Number;
              });
    for (size_t I = 0; I < On.Entries.size(); ++I)
      for (const FieldType &F : Types[N]->Fields)
        if (F.Oneof >= 0 && F.Oneof == On.Entries[I].F->Oneof &&
            &F != On.Entries[I].F)
          On.Clears.emplace_back(F.Number, I);
  }
}

} // namespace cbridge
