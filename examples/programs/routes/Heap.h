//===- Heap.h - A queue by priority -----------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef ROUTES_HEAP_H
#define ROUTES_HEAP_H

#include <utility>
#include <vector>

namespace routes {

/// Gives back the least item first.
template <typename T> class Heap {
public:
  bool empty() const { return Items.empty(); }

  void push(T Item) {
    Items.push_back(std::move(Item));
    for (size_t At = Items.size() - 1; At && less(At, parent(At));
         At = parent(At))
      swap(At, parent(At));
  }

  T pop() {
    swap(0, Items.size() - 1);
    T Result = std::move(Items.back());
    Items.pop_back();
    for (size_t At = 0, Child;
         (Child = lesserChild(At)) < Items.size() && less(Child, At);
         At = Child)
      swap(At, Child);
    return Result;
  }

private:
  static size_t parent(size_t At) { return (At - 1) / 2; }
  size_t lesserChild(size_t At) const {
    size_t Left = 2 * At + 1;
    return Left + 1 < Items.size() && less(Left + 1, Left) ? Left + 1 : Left;
  }
  bool less(size_t A, size_t B) const { return Items[A] < Items[B]; }
  void swap(size_t A, size_t B) { std::swap(Items[A], Items[B]); }

  std::vector<T> Items;
};

} // namespace routes

#endif
