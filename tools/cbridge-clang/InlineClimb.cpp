//===- InlineClimb.cpp - Better decisions from a few compiles -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineClimb.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace cbridge::driver {

namespace {

/// What a function adds to the loaded bytes beside its code: its entry in the
/// unwind tables.
constexpr uint64_t UnwindEntry = 24;
/// For decisions of which no model has told a score: about as sure as most.
constexpr float UnknownScore = 3;

/// Functions that hang together.
class Groups {
public:
  explicit Groups(size_t Count) : Parent(Count) {
    std::iota(Parent.begin(), Parent.end(), size_t(0));
  }
  size_t of(size_t Member) {
    while (Parent[Member] != Member)
      Member = Parent[Member] = Parent[Parent[Member]];
    return Member;
  }
  void join(size_t A, size_t B) { Parent[of(A)] = of(B); }

private:
  std::vector<size_t> Parent;
};

/// Goes from functions to those that have them inside.
class Containing {
public:
  explicit Containing(const std::vector<std::vector<size_t>> &Callers)
      : Callers(Callers), Seen(Callers.size()), Taken(Callers.size()) {}

  /// The functions whose size a move can change: those of its pairs, and all
  /// that have these inside. They are taken then. Empty if one was already.
  template <typename Moves> std::vector<size_t> take(const Moves &What) {
    ++Round;
    Found.clear();
    for (const auto &[Pair, Value] : What)
      for (size_t Function : {Pair.first, Pair.second})
        if (add(Function, Found.size()))
          return {};
    for (size_t I = 0; I < Found.size(); ++I)
      for (size_t Caller : Callers[Found[I].Function])
        if (add(Caller, I))
          return {};
    std::vector<size_t> All;
    for (const Step &Each : Found) {
      Taken[Each.Function] = true;
      All.push_back(Each.Function);
    }
    return All;
  }

private:
  struct Step {
    size_t Function, From;
  };

  /// Whether it is taken. If so, all that lead there are as good as taken, and
  /// nobody has to go there again.
  bool add(size_t Function, size_t From) {
    if (Taken[Function]) {
      for (size_t I = From; I < Found.size(); I = Found[I].From) {
        Taken[Found[I].Function] = true;
        if (Found[I].From == I)
          break;
      }
      return true;
    }
    if (Seen[Function] != Round) {
      Seen[Function] = Round;
      Found.push_back({Function, From});
    }
    return false;
  }

  const std::vector<std::vector<size_t>> &Callers;
  std::vector<size_t> Seen; // in which round
  std::vector<bool> Taken;
  std::vector<Step> Found;
  size_t Round = 0;
};

template <typename Move> Move opposite(Move What) {
  for (auto &[Pair, Inlined] : What)
    Inlined = !Inlined;
  return What;
}

} // namespace

InlineClimb::Function InlineClimb::functionOf(const std::string &Name) {
  auto [At, New] = Index.try_emplace(Name, Names.size());
  if (New) {
    Names.push_back(Name);
    Before.push_back(0);
  }
  return At->second;
}

InlineClimb::Pair InlineClimb::pairOf(const CallPair &Names) {
  Function Caller = functionOf(Names.first);
  return {Caller, functionOf(Names.second)};
}

InlineClimb::Sizes InlineClimb::sizesOf(const InlinedObject &Object) {
  for (const auto &[Name, Size] : Object.Functions)
    functionOf(Name);
  Sizes All(Names.size());
  for (const auto &[Name, Size] : Object.Functions)
    All[Index.at(Name)] = Size + UnwindEntry;
  return All;
}

InlineClimb::InlineClimb(const InlinedObject &Plain,
                         const InlinedObject &ByModel) {
  bool FromModel = ByModel.Bytes < Plain.Bytes;
  for (const auto &[Names, D] : ByModel.Decisions) {
    Pair P = pairOf(Names);
    Now[P] = FromModel ? D.Inlined : D.Default;
    if (FromModel)
      Told[P] = D.Inlined;
    if (D.Score)
      Scores[P] = *D.Score;
  }
  crossOver(Plain, ByModel, FromModel);
}

/// Begins with the better of two compiles, but for parts of the module in which
/// the other was better.
void InlineClimb::crossOver(const InlinedObject &Plain,
                            const InlinedObject &ByModel, bool FromModel) {
  for (const InlinedObject *Each : {&Plain, &ByModel})
    sizesOf(*Each); // so that all functions are known
  Sizes Theirs = sizesOf(FromModel ? Plain : ByModel);
  Before = sizesOf(FromModel ? ByModel : Plain);
  std::vector<std::vector<Function>> Callers(Names.size());
  Move Differing; // to the other's decisions
  for (const auto &[Names, D] : ByModel.Decisions) {
    Pair P = pairOf(Names);
    if (D.Inlined || D.Default)
      Callers[P.second].push_back(P.first);
    if (D.Inlined != D.Default)
      Differing.push_back({P, !Now[P]});
  }
  // Parts: what differs, with all that have it inside.
  Groups Parts(Names.size());
  std::vector<bool> IsPart(Names.size());
  std::vector<Function> Waiting;
  auto Reach = [&](Function F, Function From) {
    Parts.join(F, From);
    if (!IsPart[F])
      Waiting.push_back(F);
    IsPart[F] = true;
  };
  for (const auto &[P, Other] : Differing)
    for (Function F : {P.first, P.second})
      Reach(F, P.first);
  while (!Waiting.empty()) {
    Function F = Waiting.back();
    Waiting.pop_back();
    for (Function Caller : Callers[F])
      Reach(Caller, F);
  }
  std::vector<int64_t> Gain(Names.size());
  for (Function F = 0; F < Names.size(); ++F)
    if (IsPart[F])
      Gain[Parts.of(F)] += int64_t(Before[F]) - int64_t(Theirs[F]);
  for (const auto &Each : Differing)
    if (Gain[Parts.of(Each.first.first)] > 0)
      apply({Each});
  for (Function F = 0; F < Names.size(); ++F)
    if (IsPart[F] && Gain[Parts.of(F)] > 0)
      Before[F] = Theirs[F];
}

void InlineClimb::apply(const Move &M) {
  for (const auto &[P, Inlined] : M)
    Now[P] = Told[P] = Inlined;
  Proven = false;
}

std::vector<std::vector<InlineClimb::Function>>
InlineClimb::callersOfInlined() const {
  std::vector<std::vector<Function>> Callers(Names.size());
  for (const auto &[P, Inlined] : Now)
    if (Inlined)
      Callers[P.second].push_back(P.first);
  return Callers;
}

/// Moves: the opposite of one decision; and of all on a callee, which may
/// vanish if it is inlined everywhere, and is there once if it nowhere is.
std::vector<InlineClimb::Move> InlineClimb::untried() const {
  std::vector<Move> All;
  auto Add = [&](Move M) {
    if (Tried.count(M) == 0)
      All.push_back(std::move(M));
  };
  std::map<Function, std::vector<Pair>> ByCallee;
  for (const auto &[P, Inlined] : Now) {
    Add({{P, !Inlined}});
    ByCallee[P.second].push_back(P);
  }
  for (const auto &[Callee, Pairs] : ByCallee)
    for (bool Inlined : {false, true}) {
      Move M;
      for (const Pair &P : Pairs)
        if (Now.at(P) != Inlined)
          M.push_back({P, Inlined});
      if (M.size() > 1)
        Add(std::move(M));
    }
  return All;
}

/// How sure the model is that a move is bad.
float InlineClimb::sureness(const Move &M) const {
  float Least = UnknownScore;
  for (const auto &[P, Inlined] : M)
    if (auto At = Scores.find(P); At != Scores.end())
      Least = std::min(Least, std::fabs(At->second));
  return Least;
}

/// Moves that touch functions of which no other touches one.
std::vector<InlineClimb::Trial> InlineClimb::choose() const {
  std::vector<Move> Waiting = untried();
  std::vector<std::pair<float, size_t>> Order;
  for (size_t I = 0; I < Waiting.size(); ++I)
    Order.push_back({sureness(Waiting[I]), I});
  std::sort(Order.begin(), Order.end());
  std::vector<std::vector<Function>> Callers = callersOfInlined();
  Containing Reach(Callers);
  std::vector<Trial> Chosen;
  for (const auto &[Sureness, I] : Order) {
    if (Chosen.size() == Most)
      break;
    std::vector<Function> Touched = Reach.take(Waiting[I]);
    if (!Touched.empty())
      Chosen.push_back({std::move(Waiting[I]), std::move(Touched)});
  }
  return Chosen;
}

InlineClimb::Way InlineClimb::way(const std::vector<Trial> &Trials) const {
  Way All;
  auto Set = [&](const Pair &P, bool Inlined) {
    All[{Names[P.first], Names[P.second]}] = Inlined;
  };
  for (const auto &[P, Inlined] : Told)
    Set(P, Inlined);
  for (const Trial &T : Trials)
    for (const auto &[P, Inlined] : T.What)
      Set(P, Inlined);
  return All;
}

std::vector<InlineClimb::Way> InlineClimb::next(size_t Left) {
  Round.clear();
  std::vector<Way> Ways;
  // The last one is for what is known to be good.
  while (Ways.size() < Width && Ways.size() + 1 < Left) {
    std::vector<Trial> Chosen = choose();
    if (Chosen.empty())
      break;
    for (const Trial &T : Chosen)
      Tried.insert(T.What);
    Ways.push_back(way(Chosen));
    Round.push_back(std::move(Chosen));
  }
  if (Ways.empty() && Left > 0 && !Proven) {
    Ways.push_back(way({}));
    Proven = true;
  }
  return Ways;
}

/// 0 if nothing was.
uint64_t InlineClimb::saved(const Trial &T, const Sizes &After) const {
  uint64_t Old = 0, New = 0;
  for (Function F : T.Touched) {
    Old += Before[F];
    New += After[F];
  }
  return New < Old ? Old - New : 0;
}

/// One of them may have been the compiler's end: the others are tried again, in
/// smaller numbers.
void InlineClimb::forgive(const std::vector<Trial> &Trials) {
  if (Trials.size() < 2)
    return;
  for (const Trial &T : Trials)
    Tried.erase(T.What);
  Most = std::min(Most, Trials.size() / 2);
}

void InlineClimb::learn(const std::vector<const InlinedObject *> &Results) {
  struct Good {
    uint64_t Saved;
    const Trial *T;
    size_t Result;
  };
  std::vector<Good> All;
  std::vector<Sizes> After(Round.size());
  for (size_t I = 0; I < Round.size(); ++I) {
    if (!Results[I]) {
      forgive(Round[I]);
      continue;
    }
    After[I] = sizesOf(*Results[I]);
    for (const Trial &T : Round[I])
      if (uint64_t Saved = saved(T, After[I]))
        All.push_back({Saved, &T, I});
  }
  std::sort(All.begin(), All.end(), [](const Good &A, const Good &B) {
    return std::tie(B.Saved, A.Result, A.T) < std::tie(A.Saved, B.Result, B.T);
  });
  std::vector<size_t> ChangedBy(Names.size(), Round.size());
  for (const Good &Each : All) {
    bool Free =
        std::all_of(Each.T->Touched.begin(), Each.T->Touched.end(),
                    [&](Function F) { return ChangedBy[F] == Round.size(); });
    if (!Free) { // it may be good again after what was better
      Tried.erase(Each.T->What);
      continue;
    }
    apply(Each.T->What);
    Tried.insert(opposite(Each.T->What));
    for (Function F : Each.T->Touched) {
      ChangedBy[F] = Each.Result;
      Before[F] = After[Each.Result][F];
    }
  }
  // Calls that came with what was inlined.
  for (size_t I = 0; I < Round.size(); ++I)
    if (Results[I])
      for (const auto &[Names, D] : Results[I]->Decisions) {
        Pair P = pairOf(Names);
        if (P.first < ChangedBy.size() && ChangedBy[P.first] == I)
          Now.try_emplace(P, D.Inlined);
      }
}

} // namespace cbridge::driver
