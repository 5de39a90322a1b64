//===- Environment.cpp - Decisions that follow one another ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Environment.h>

#include <algorithm>
#include <cmath>

namespace cbridge {

Environment::~Environment() = default;

Span<const bool> Environment::mask() const {
  static_assert(sizeof(bool) == 1, "a bool is a byte of 0 or 1");
  return {reinterpret_cast<const bool *>(Legal.data()), Legal.size()};
}

void Environment::setMask(const std::vector<bool> &Mask) {
  Legal.assign(Mask.begin(), Mask.end());
}

int64_t Environment::fallbackAction() {
  for (size_t I = 0; I < Legal.size(); ++I)
    if (Legal[I])
      return int64_t(I);
  return 0;
}

/// What the loop may do with an environment that others may not.
class EpisodeDriver {
public:
  static void begin(Environment &Env) {
    Env.Done = false;
    beforeStep(Env);
  }
  /// Masks and rewards hold for one step.
  static void beforeStep(Environment &Env) {
    Env.Legal.clear();
    Env.Reward.reset();
  }
};

namespace {

/// Spreads the bits of a number over all of it (splitmix64).
uint64_t mix(uint64_t X) {
  X += 0x9e3779b97f4a7c15ULL;
  X = (X ^ (X >> 30)) * 0xbf58476d1ce4e5b9ULL;
  X = (X ^ (X >> 27)) * 0x94d049bb133111ebULL;
  return X ^ (X >> 31);
}

uint64_t mix(uint64_t Seed, std::string_view Text) {
  for (char C : Text)
    Seed = mix(Seed ^ static_cast<unsigned char>(C));
  return mix(Seed ^ Text.size());
}

double uniform(uint64_t Bits) { return double(Bits >> 11) * 0x1p-53; }

bool isScore(const TensorSpec &Spec) {
  return Spec.type() == ElementType::Float ||
         Spec.type() == ElementType::Double;
}

} // namespace

Agent::Agent(std::string Label, MLModelRunner Runner, Selection How)
    : Label(std::move(Label)), Runner(std::move(Runner)), How(How) {}

Expected<Agent> Agent::open(std::string Label, std::string_view RunnerString,
                            Signature Sig, Selection How,
                            Model::FallbackSink OnFallback) {
  Expected<Model> M =
      Model::open(RunnerString, std::move(Sig), std::move(OnFallback));
  if (!M)
    return M.status().withContext("agent '" + Label + "'");
  return over(std::move(Label), *M, How);
}

Expected<Agent> Agent::over(std::string Label, const Model &M, Selection How) {
  const TensorSpec &Decision = M.signature().outputs()[0];
  if (Decision.isString() ||
      (!isScore(Decision) && Decision.elementCount() != 1))
    return Status::error(StatusCode::InvalidArgument,
                         "agent '" + Label + "': decision '" + Decision.name() +
                             "' is " + Decision.typeAndShape() +
                             ", which is neither one integer nor scores");
  return Agent(std::move(Label), M.runner(), How);
}

void Agent::switchContext(std::string_view Name) {
  Context = Name;
  Ordinal = 0;
  Runner.switchContext(Name);
}

Expected<int64_t> Agent::computeAction(const Observation &Obs,
                                       Span<const bool> Mask) {
  if (Obs)
    Obs(Runner);
  ++Ordinal;
  Scores.clear();
  if (!isScore(Runner.signature().outputs()[0])) {
    Runner.setMask(Mask);
    return Runner.evaluate<int64_t>();
  }
  Expected<Decision> D = Runner.evaluate();
  if (!D)
    return D.status();
  return choose(D->tensor(0), Mask);
}

Expected<int64_t> Agent::choose(const TensorView &Given,
                                Span<const bool> Mask) {
  size_t Count = Given.elementCount();
  if (!Mask.empty() && Mask.size() != Count)
    return Status::error(StatusCode::ShapeMismatch,
                         "agent '" + Label + "': " + std::to_string(Count) +
                             " scores for " + std::to_string(Mask.size()) +
                             " actions");
  size_t Size = sizeOf(Given.Spec->type());
  Scores.resize(Count);
  std::optional<size_t> Best;
  for (size_t I = 0; I < Count; ++I) {
    Scores[I] =
        Number::load(Given.Spec->type(), Given.Data.data() + I * Size).real();
    if ((Mask.empty() || Mask[I]) && (!Best || Scores[I] > Scores[*Best]))
      Best = I;
  }
  if (!Best)
    return Status::error(StatusCode::IllegalDecision,
                         "agent '" + Label + "': no action is legal");
  if (How.How == Selection::ArgMax)
    return int64_t(*Best);

  double Top = Scores[*Best], Sum = 0;
  Weights.resize(Count);
  for (size_t I = 0; I < Count; ++I) {
    bool Legal = Mask.empty() || Mask[I];
    // Infinite scores: all the weight is with those that equal the best.
    Weights[I] = !Legal             ? 0
                 : Scores[I] == Top ? 1
                 : std::isinf(Top)  ? 0
                                    : std::exp(Scores[I] - Top);
    Sum += Weights[I];
  }
  uint64_t Bits = mix(mix(mix(How.Seed, Label), Context) ^ mix(Ordinal));
  double Left = uniform(Bits) * Sum;
  for (size_t I = 0; I < Count; ++I) {
    if (Weights[I] > 0 && Left < Weights[I])
      return int64_t(I);
    Left -= Weights[I];
  }
  return int64_t(*Best); // rounding used up the last weight
}

void Agents::add(Agent A) {
  std::string Label = A.label();
  ByLabel.insert_or_assign(std::move(Label), Member{std::move(A)});
}

Agent *Agents::find(std::string_view Label) {
  auto Found = ByLabel.find(Label);
  return Found == ByLabel.end() ? nullptr : &Found->second.A;
}

/// Tells an agent what it has earned since its latest action.
void Agents::reward(Member &M) {
  if (M.Acted) // sums of finite rewards may not be finite, which nobody learns
    (void)M.A.runner().reward(std::exchange(M.Earned, 0));
}

/// One step: the next agent, or the fallback, acts.
Status Agents::act(Environment &Env, Observation &Obs, Episode &E) {
  auto Found = ByLabel.find(Env.getNextAgent());
  if (Found == ByLabel.end()) {
    std::string Known;
    for (auto &[Label, M] : ByLabel)
      Known += (Known.empty() ? "" : ", ") + Label;
    return Status::error(StatusCode::InvalidArgument,
                         "there is no agent '" + Env.getNextAgent() +
                             "'; there are " + Known);
  }
  Member &Acting = Found->second;
  Span<const bool> Mask = Env.mask();
  if (!Mask.empty() && std::find(Mask.begin(), Mask.end(), true) == Mask.end())
    return Status::error(StatusCode::InvalidArgument,
                         "no action is legal for agent '" + Acting.A.label() +
                             "' in step " + std::to_string(E.Steps + 1));
  reward(Acting);
  Expected<int64_t> Action = Acting.A.computeAction(Obs, Mask);
  int64_t Taken = Action ? *Action : Env.fallbackAction();
  if (!Action) {
    MLModelRunner &Runner = Acting.A.runner();
    if (isScore(Runner.signature().outputs()[0])) // an action is no score
      Runner.noteFallback(Action.status());
    else
      Runner.noteFallback(Action.status(), Taken);
    if (E.Fallbacks++ == 0)
      E.FirstError = Action.status();
  }
  Acting.Acted = true;
  ++E.Steps;
  EpisodeDriver::beforeStep(Env);
  Obs = Env.step(Taken);
  double Earned = Env.reward().value_or(0);
  if (!std::isfinite(Earned))
    return Status::error(StatusCode::InvalidArgument,
                         "the reward of step " + std::to_string(E.Steps) +
                             ", agent '" + Acting.A.label() +
                             "', is not finite");
  E.Reward += Earned;
  for (auto &[Label, M] : ByLabel)
    M.Earned += M.Acted ? Earned : 0;
  return Status();
}

Expected<Episode> Agents::run(Environment &Env, std::string_view Context,
                              size_t MaxSteps) {
  for (auto &[Label, M] : ByLabel) {
    M.A.switchContext(Context);
    M.Acted = false;
    M.Earned = 0;
  }
  Episode E;
  Status S;
  EpisodeDriver::begin(Env);
  Observation Obs = Env.reset();
  while (S.ok() && !Env.checkDone() && !E.Truncated) {
    if (E.Steps == MaxSteps)
      E.Truncated = true;
    else
      S = act(Env, Obs, E);
  }
  // Whether a peer hears of the end does not change the episode.
  for (auto &[Label, M] : ByLabel) {
    reward(M);
    (void)M.A.runner().endEpisode(E.Truncated || !S.ok());
  }
  if (!S.ok())
    return S;
  return E;
}

} // namespace cbridge
