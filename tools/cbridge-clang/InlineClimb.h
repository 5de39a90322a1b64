//===- InlineClimb.h - Better decisions from a few compiles -----*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_INLINECLIMB_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_INLINECLIMB_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cbridge::driver {

/// A caller and a callee: all calls of one by the other are decided alike.
using CallPair = std::pair<std::string, std::string>;

/// On a pair.
struct InlineDecision {
  bool Inlined = false;
  bool Default = false; ///< what LLVM's heuristic would have decided
  /// The further from 0, the surer the model; none if it does not tell.
  std::optional<float> Score;
};

/// What is known of a compile.
struct InlinedObject {
  uint64_t Bytes = 0;                        ///< that are loaded
  std::map<std::string, uint64_t> Functions; ///< their sizes
  std::map<CallPair, InlineDecision> Decisions;
};

/// Looks for decisions that make an object smaller than LLVM's heuristic and a
/// model have made it, in few compiles. Each of them tries the opposite of many
/// decisions, the least sure first, in parts of the module that do not touch
/// each other, so that sizes of functions tell what each has done. What was
/// good is kept in the compiles that follow, and the last of them does nothing
/// else. The same results lead to the same compiles.
class InlineClimb {
public:
  /// Decisions; LLVM's heuristic decides on all other pairs.
  using Way = std::map<CallPair, bool>;
  /// How many compiles can be under way at a time.
  static constexpr size_t Width = 2;

  /// Of Plain only sizes are looked at.
  InlineClimb(const InlinedObject &Plain, const InlinedObject &ByModel);

  /// What to compile next, if Left more compiles are allowed; nothing if there
  /// is nothing left to try.
  std::vector<Way> next(size_t Left);
  /// What became of these, in their order; null if it failed.
  void learn(const std::vector<const InlinedObject *> &Results);

private:
  using Function = size_t; // an index
  using Pair = std::pair<Function, Function>;
  using Move = std::vector<std::pair<Pair, bool>>; // decisions, in order
  using Sizes = std::vector<uint64_t>; // by function; 0: it is not there
  struct Trial {
    Move What;
    std::vector<Function> Touched; // functions whose size it can change
  };

  Function functionOf(const std::string &Name);
  Pair pairOf(const CallPair &Names);
  Sizes sizesOf(const InlinedObject &Object);
  void crossOver(const InlinedObject &Plain, const InlinedObject &ByModel,
                 bool FromModel);
  std::vector<std::vector<Function>> callersOfInlined() const;
  std::vector<Move> untried() const;
  float sureness(const Move &M) const;
  std::vector<Trial> choose() const;
  void apply(const Move &M);
  void forgive(const std::vector<Trial> &Trials);
  Way way(const std::vector<Trial> &Trials) const;
  uint64_t saved(const Trial &T, const Sizes &After) const;

  std::map<std::string, Function> Index;
  std::vector<std::string> Names;
  std::map<Pair, bool> Now;  ///< how each is decided, as far as is known
  std::map<Pair, bool> Told; ///< decisions that ways spell out
  std::map<Pair, float> Scores;
  Sizes Before;       ///< of functions, if Told is done
  bool Proven = true; ///< whether that was compiled
  std::set<Move> Tried;
  size_t Most = size_t(-1);              ///< trials in one compile
  std::vector<std::vector<Trial>> Round; ///< the trials of each compile
};

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_INLINECLIMB_H
