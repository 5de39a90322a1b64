//===- ThreeAgents.cpp - Three hierarchical agents ------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small register allocator: one agent picks the next live range, a second
// whether to colour or to spill it, a third the colour. Each has a runner
// string of its own; without, they are engines of this program, seeded by
// `random:`. three_agents.py has the same in Python, and trains models for
// them.
//
//===----------------------------------------------------------------------===//
#include <cbridge/Environment.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

using namespace cbridge;

namespace {

/// Live ranges that interfere, spill costs, and a few registers.
class Allocation : public Environment {
public:
  static constexpr size_t Ranges = 12, Registers = 3;
  enum Task : int64_t { Colour, Spill };

  /// Is told of each action before it is applied.
  using Witness = std::function<void(const std::string &Agent, int64_t Action)>;

  explicit Allocation(unsigned Seed, Witness W = nullptr) : Told(std::move(W)) {
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
    if (Told)
      Told(getNextAgent(), Action);
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

  Witness Told;
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

constexpr char Usage[] =
    "usage: three_agents [--episodes N] [--greedy] [--log FILE]\n"
    "                    [SELECT TASK COLOUR]\n"
    "Allocates registers in N functions (default: 5). SELECT, TASK and COLOUR "
    "are the\nagents' runner strings, such as onnx:select.onnx (default: "
    "random:1 random:2\nrandom:3).\n"
    "  --greedy     the best score wins, instead of samples by softmax\n"
    "  --log FILE   a line per decision: episode, step, agent, action, scores "
    "in hex\n";

struct Options {
  unsigned Episodes = 5;
  Selection::Kind How = Selection::Sample;
  const char *Log = nullptr;
  const char *Runners[3] = {"random:1", "random:2", "random:3"};
};

bool parse(int Count, char **Arguments, Options &To) {
  int I = 1;
  for (; I < Count && Arguments[I][0] == '-'; ++I) {
    std::string_view Word = Arguments[I];
    if (Word == "--greedy")
      To.How = Selection::ArgMax;
    else if (Word == "--episodes" && I + 1 < Count)
      To.Episodes = unsigned(std::strtoul(Arguments[++I], nullptr, 10));
    else if (Word == "--log" && I + 1 < Count)
      To.Log = Arguments[++I];
    else
      return false;
  }
  if (I == Count)
    return true;
  if (Count - I != 3)
    return false;
  std::copy(Arguments + I, Arguments + Count, To.Runners);
  return true;
}

Expected<Agents> openAgents(const Options &Given) {
  constexpr auto Ranges = int64_t(Allocation::Ranges);
  constexpr auto Registers = int64_t(Allocation::Registers);
  const std::pair<const char *, Signature> Wanted[] = {
      {"select",
       {{TensorSpec::create<float>("costs", {Ranges}),
         TensorSpec::create<bool>("left", {Ranges})},
        TensorSpec::create<float>("scores", {Ranges})}},
      {"task",
       {{TensorSpec::create<float>("cost"),
         TensorSpec::create<int64_t>("free_registers")},
        TensorSpec::create<float>("scores", {2})}},
      {"colour",
       {{TensorSpec::create<bool>("free", {Registers})},
        TensorSpec::create<float>("scores", {Registers})}},
  };
  Registry Schemes = withRandomScheme();
  Agents All;
  for (size_t I = 0; I < 3; ++I) {
    auto &[Label, Sig] = Wanted[I];
    auto M = Model::open(Given.Runners[I], Sig, Schemes);
    if (!M)
      return M.status().withContext(Label);
    auto A = Agent::over(Label, *M, {Given.How, /*Seed=*/uint64_t(I)});
    if (!A)
      return A.status();
    All.add(std::move(*A));
  }
  return All;
}

/// One line per decision, with all of each score's bits.
class DecisionLog {
public:
  explicit DecisionLog(const char *File)
      : To(File ? std::fopen(File, "w") : nullptr), Failed(File && !To) {}
  ~DecisionLog() { close(); }
  DecisionLog(const DecisionLog &) = delete;
  DecisionLog &operator=(const DecisionLog &) = delete;

  void write(unsigned Episode, size_t Step, const Agent &A, int64_t Action) {
    if (!To)
      return;
    std::fprintf(To, "%u %zu %s %lld", Episode, Step, A.label().c_str(),
                 static_cast<long long>(Action));
    for (double Score : A.scores())
      std::fprintf(To, " %a", Score);
    std::fputc('\n', To);
  }
  /// Whether all of it was written.
  bool close() {
    if (To) {
      Failed |= std::ferror(To) != 0;
      Failed |= std::fclose(To) != 0;
    }
    To = nullptr;
    return !Failed;
  }

private:
  std::FILE *To;
  bool Failed;
};

int fail(const std::string &Why) {
  std::fprintf(stderr, "three_agents: %s\n", Why.c_str());
  return 1;
}

} // namespace

int main(int Count, char **Arguments) {
  Options Given;
  bool Help = Count == 2 && std::strcmp(Arguments[1], "--help") == 0;
  if (Help || !parse(Count, Arguments, Given)) {
    std::fputs(Usage, Help ? stdout : stderr);
    return Help ? 0 : 2;
  }
  Expected<Agents> All = openAgents(Given);
  if (!All)
    return fail(All.status().message());
  DecisionLog Log(Given.Log);
  for (unsigned Function = 0; Function < Given.Episodes; ++Function) {
    size_t Step = 0;
    Allocation Env(Function, [&](const std::string &Label, int64_t Action) {
      Log.write(Function, Step++, *All->find(Label), Action);
    });
    auto E = All->run(Env, "function" + std::to_string(Function));
    if (!E)
      return fail(E.status().message());
    std::printf("function%u: %2zu steps, %zu by fallback, %zu spills, reward "
                "%+.0f, %s\n",
                Function, E->Steps, E->Fallbacks, Env.spills(), E->Reward,
                Env.isValid() ? "valid" : "INVALID");
    if (!E->FirstError.ok())
      std::printf("  %s\n", E->FirstError.message().c_str());
    if (!Env.isValid())
      return 1;
  }
  return Log.close() ? 0 : fail(std::string(Given.Log) + " cannot be written");
}
