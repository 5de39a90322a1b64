//===- Scope.h - Variables and where they live ------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef SCRIPT_SCOPE_H
#define SCRIPT_SCOPE_H

#include "Value.h"

#include <unordered_map>

namespace script {

class Heap;

/// The variables of a call or of the whole script. Functions keep the scope
/// that they were made in, which may be the one that holds them: so scopes
/// belong to a Heap, not to each other.
class Scope {
public:
  Scope(Heap &Owner, Scope *Parent) : Owner(Owner), Parent(Parent) {}

  void define(const std::string &Name, Value New) {
    Variables[Name] = std::move(New);
  }
  /// The variable here or further out, or null.
  Value *find(const std::string &Name) {
    for (Scope *At = this; At; At = At->Parent)
      if (auto Found = At->Variables.find(Name); Found != At->Variables.end())
        return &Found->second;
    return nullptr;
  }
  Heap &heap() const { return Owner; }
  /// From now on this scope outlives its call.
  void keep() {
    for (Scope *At = this; At && !At->Kept; At = At->Parent)
      At->Kept = true;
  }

private:
  friend class Heap;
  Heap &Owner;
  Scope *Parent;
  bool Kept = false;
  std::unordered_map<std::string, Value> Variables;
};

/// Makes scopes, and takes back those that nobody keeps.
class Heap {
public:
  ~Heap() {
    for (auto &Each : Scopes)
      Each->Variables.clear();
  }
  Scope &make(Scope *Parent) {
    if (Free.empty()) {
      Scopes.push_back(std::make_unique<Scope>(*this, Parent));
      return *Scopes.back();
    }
    Scope &Reused = *Free.back();
    Free.pop_back();
    Reused.Parent = Parent;
    return Reused;
  }
  void leave(Scope &Done) {
    --Depth;
    if (Done.Kept)
      return;
    Done.Variables.clear();
    Free.push_back(&Done);
  }
  void enter(int Line) {
    if (++Depth > 150)
      throw Error(Line, "calls are nested too deep");
  }

private:
  std::vector<std::unique_ptr<Scope>> Scopes;
  std::vector<Scope *> Free;
  int Depth = 0;
};

void defineBuiltins(Scope &Globals);

} // namespace script

#endif
