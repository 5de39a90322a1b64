//===- Environment.h - Decisions that follow one another --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENVIRONMENT_H
#define CBRIDGE_ENVIRONMENT_H

#include <cbridge/MLModelRunner.h>

#include <functional>
#include <map>

namespace cbridge {

/// Writes what an agent is to see into its runner:
/// `[this](MLModelRunner &R) { R.populateFeatures(std::pair{"ir", Vector}); }`.
using Observation = std::function<void(MLModelRunner &)>;

/// A compiler's side of a reinforcement-learning loop: what one derives from to
/// let several agents take decisions in turn.
class Environment {
public:
  virtual ~Environment();
  /// Begins an episode and gives the first observation.
  virtual Observation reset() = 0;
  /// Applies the action of the agent that was next, and gives what the one that
  /// is next now sees; after setDone() it may be null.
  virtual Observation step(int64_t Action) = 0;
  /// The action if the next agent's model has none: the first legal one, unless
  /// overridden by the compiler's own heuristic.
  virtual int64_t fallbackAction();

  bool checkDone() const { return Done; }
  const std::string &getNextAgent() const { return NextAgent; }
  /// Which actions the next agent may take; empty if all.
  Span<const bool> mask() const;
  /// Of the latest step, if it set one.
  std::optional<double> reward() const { return Reward; }

protected:
  void setDone() { Done = true; }
  void setNextAgent(std::string_view Label) { NextAgent = Label; }
  /// Of this step. Each agent is told the sum of the rewards since its own
  /// previous action, so that those who act early learn what came of it.
  void setReward(double Value) { Reward = Value; }
  /// For the next decision only.
  void setMask(const std::vector<bool> &Legal);

private:
  friend class EpisodeDriver;
  std::string NextAgent;
  std::vector<unsigned char> Legal;
  std::optional<double> Reward;
  bool Done = false;
};

/// How an agent turns scores into an action.
struct Selection {
  enum Kind {
    ArgMax, ///< the best legal score; the first of equals
    Sample, ///< with the probabilities that softmax gives the legal scores
  } How = ArgMax;
  /// The samples depend on this, the agent's label, the context, and how many
  /// decisions came before in that context: a run can be repeated.
  uint64_t Seed = 0;
};

/// One who decides: a label and a runner. Its decision is either one integer,
/// the action, or a vector of floating-point scores, one per action.
class Agent {
public:
  static Expected<Agent> open(std::string Label, std::string_view RunnerString,
                              Signature Sig, Selection How = Selection(),
                              Model::FallbackSink OnFallback = nullptr);
  /// For a model that is open already, or one with schemes of the caller's.
  static Expected<Agent> over(std::string Label, const Model &M,
                              Selection How = Selection());

  const std::string &label() const { return Label; }
  MLModelRunner &runner() { return Runner; }
  void switchContext(std::string_view Name);
  /// The action for what Obs shows, among those that Mask allows.
  Expected<int64_t> computeAction(const Observation &Obs,
                                  Span<const bool> Mask = {});
  /// What the latest action was chosen by, illegal ones included; empty if the
  /// model had none, or decides the action itself.
  Span<const double> scores() const { return Scores; }

private:
  Agent(std::string Label, MLModelRunner Runner, Selection How);
  Expected<int64_t> choose(const TensorView &Given, Span<const bool> Mask);

  std::string Label, Context;
  MLModelRunner Runner;
  Selection How;
  uint64_t Ordinal = 0;
  std::vector<double> Scores, Weights;
};

/// What came of an episode.
struct Episode {
  size_t Steps = 0;
  size_t Fallbacks = 0; ///< steps that a model did not decide
  double Reward = 0;    ///< the sum over all steps
  bool Truncated = false;
  Status FirstError; ///< why the first fallback was needed
};

/// The agents of an environment, by label, and the loop that lets them act.
class Agents {
public:
  void add(Agent A);
  Agent *find(std::string_view Label);

  /// Runs one episode of at most MaxSteps. A model that fails is replaced, step
  /// by step, by the environment's fallback. Fails only if the environment is
  /// wrong: it names an agent that there is not, allows it no action, or gives
  /// a reward that is not finite.
  Expected<Episode> run(Environment &Env, std::string_view Context = "",
                        size_t MaxSteps = 100'000);

private:
  struct Member {
    Agent A;
    double Earned = 0;  // since its latest action
    bool Acted = false; // in this episode
  };
  Status act(Environment &Env, Observation &Obs, Episode &E);
  static void reward(Member &M);

  std::map<std::string, Member, std::less<>> ByLabel;
};

} // namespace cbridge

#endif // CBRIDGE_ENVIRONMENT_H
