//===- ThreeAgents.cpp - Three hierarchical agents ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ThreeAgents [SELECT TASK COLOUR]: a small register allocator. One agent picks
// the next live range, a second whether to colour or to spill it, a third the
// colour. Each agent has a runner string of its own; without arguments they are
// engines of this program, seeded by `random:`.
//
//===----------------------------------------------------------------------===//
#include <cbridge/Environment.h>

#include <cstdio>
#include <numeric>
#include <random>

using namespace cbridge;

namespace {

/// Live ranges that interfere, spill costs, and a few registers.
class Allocation : public Environment {
public:
  static constexpr size_t Ranges = 12, Registers = 3;
  enum Task : int64_t { Colour, Spill };

  explicit Allocation(unsigned Seed) {
    std::mt19937 Random(Seed);
    for (size_t A = 0; A < Ranges; ++A) {
      Cost[A] = float(1 + Random() % 9);
      for (size_t B = 0; B < A; ++B)
        Interferes[A][B] = Interferes[B][A] = Random() % 3 == 0;
    }
  }

  Observation reset() override {
    std::fill(std::begin(State), std::end(State), Open);
    return nextRange();
  }

  Observation step(int64_t Action) override {
    if (getNextAgent() == "select") {
      Current = size_t(Action);
      setNextAgent("task");
      setMask({anyFree(), true});
      return [this](MLModelRunner &R) {
        R.populateFeatures(std::pair{"cost", Cost[Current]},
                           std::pair{"free_registers", countFree()});
      };
    }
    if (getNextAgent() == "task" && Action == Colour) {
      setNextAgent("colour");
      std::vector<bool> Free = freeRegisters();
      setMask(Free);
      return [Free](MLModelRunner &R) {
        R.populateFeatures(std::pair{"free", Free});
      };
    }
    bool Spilled = getNextAgent() == "task";
    State[Current] = Spilled ? InMemory : int(Action);
    setReward(Spilled ? -double(Cost[Current]) : double(Cost[Current]));
    return nextRange();
  }

  /// Whether no two ranges that interfere share a register.
  bool isValid() const {
    for (size_t A = 0; A < Ranges; ++A)
      for (size_t B = 0; B < A; ++B)
        if (Interferes[A][B] && State[A] >= 0 && State[A] == State[B])
          return false;
    return std::count(std::begin(State), std::end(State), int(Open)) == 0;
  }
  size_t spills() const {
    return size_t(
        std::count(std::begin(State), std::end(State), int(InMemory)));
  }

private:
  enum { Open = -1, InMemory = -2 };

  Observation nextRange() {
    std::vector<bool> Left(Ranges);
    for (size_t A = 0; A < Ranges; ++A)
      Left[A] = State[A] == Open;
    if (std::find(Left.begin(), Left.end(), true) == Left.end())
      setDone();
    setNextAgent("select");
    setMask(Left);
    return [this, Left](MLModelRunner &R) {
      R.populateFeatures(std::pair{"costs", Cost}, std::pair{"left", Left});
    };
  }
  std::vector<bool> freeRegisters() const {
    std::vector<bool> Free(Registers, true);
    for (size_t B = 0; B < Ranges; ++B)
      if (Interferes[Current][B] && State[B] >= 0)
        Free[size_t(State[B])] = false;
    return Free;
  }
  int countFree() const {
    std::vector<bool> Free = freeRegisters();
    return int(std::count(Free.begin(), Free.end(), true));
  }
  bool anyFree() const { return countFree() > 0; }

  std::array<float, Ranges> Cost{};
  bool Interferes[Ranges][Ranges] = {};
  int State[Ranges];
  size_t Current = 0;
};

/// Scores of an untrained model: the same for the same inputs and seed.
class RandomScores : public BufferedEngine {
public:
  RandomScores(const Signature &Sig, unsigned Seed)
      : BufferedEngine(Sig), Random(Seed) {}
  Status run(const Call &) override {
    for (size_t O = 0; O < Outputs.size(); ++O)
      for (size_t I = 0; I < Outputs.bytes(O).size(); I += sizeof(float)) {
        float Score = std::normal_distribution<float>()(Random);
        std::memcpy(Outputs.bytes(O).data() + I, &Score, sizeof(Score));
      }
    return Status();
  }

private:
  std::mt19937 Random;
};

Registry withRandomScheme() {
  Registry Schemes = Registry::builtin();
  Schemes.add({"random",
               "random:SEED gives random scores",
               {},
               [](const RunnerString &R,
                  const Signature &Sig) -> Expected<EngineSource> {
                 auto Seed = unsigned(std::atoi(R.target().c_str()));
                 return EngineSource(
                     [=] { return makeEngine<RandomScores>(Sig, Seed); });
               }});
  return Schemes;
}

} // namespace

int main(int Count, char **Arguments) {
  constexpr auto Ranges = int64_t(Allocation::Ranges);
  constexpr auto Registers = int64_t(Allocation::Registers);
  struct {
    const char *Label, *RunnerString;
    Signature Sig;
  } Wanted[] = {
      {"select",
       "random:1",
       {{TensorSpec::create<float>("costs", {Ranges}),
         TensorSpec::create<bool>("left", {Ranges})},
        TensorSpec::create<float>("scores", {Ranges})}},
      {"task",
       "constant:0",
       {{TensorSpec::create<float>("cost"),
         TensorSpec::create<int64_t>("free_registers")},
        TensorSpec::create<int64_t>("task")}},
      {"colour",
       "random:3",
       {{TensorSpec::create<bool>("free", {Registers})},
        TensorSpec::create<float>("scores", {Registers})}},
  };
  Registry Schemes = withRandomScheme();
  Agents All;
  for (int I = 0; I < 3; ++I) {
    auto M = Model::open(Count == 4 ? Arguments[I + 1] : Wanted[I].RunnerString,
                         Wanted[I].Sig, Schemes);
    if (!M) {
      std::fprintf(stderr, "%s: %s\n", Wanted[I].Label,
                   M.status().message().c_str());
      return 1;
    }
    auto A = Agent::over(Wanted[I].Label, *M,
                         {Selection::Sample, /*Seed=*/uint64_t(I)});
    if (!A) {
      std::fprintf(stderr, "%s\n", A.status().message().c_str());
      return 1;
    }
    All.add(std::move(*A));
  }

  for (unsigned Function = 0; Function < 5; ++Function) {
    Allocation Env(Function);
    auto E = All.run(Env, "function" + std::to_string(Function));
    if (!E) {
      std::fprintf(stderr, "%s\n", E.status().message().c_str());
      return 1;
    }
    std::printf("function%u: %2zu steps, %zu by fallback, %zu spills, reward "
                "%+.0f, %s\n",
                Function, E->Steps, E->Fallbacks, Env.spills(), E->Reward,
                Env.isValid() ? "valid" : "INVALID");
    if (!Env.isValid())
      return 1;
  }
}
