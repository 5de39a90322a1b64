//===- ModuleEngine.cpp - A runner of a module ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "core/SignatureJson.h"
#include "module/Adapters.h"

namespace cbridge::c {

namespace {

struct RunnerType {
  cbridge_runner_type C;
  std::string Who;
};

/// A model of a module, which outlives its runners.
struct ModuleModel {
  ModuleModel(std::shared_ptr<const RunnerType> Of, const Signature &Given)
      : Of(std::move(Of)), Sig(Given) {
    fill(Inputs, Sig.inputs());
    fill(Outputs, Sig.outputs());
    InC = {sizeof(InC), Inputs.data(), Outputs.data(), Inputs.size(),
           Outputs.size()};
  }
  ~ModuleModel() {
    if (Opened)
      Of->C.close(Handle);
  }

  std::shared_ptr<const RunnerType> Of;
  const Signature Sig;
  Specs Inputs, Outputs;
  cbridge_signature InC;
  void *Handle = nullptr;
  bool Opened = false;
};

class ModuleEngine : public Engine {
public:
  ModuleEngine(std::shared_ptr<const ModuleModel> Model, void *Runner)
      : Model(std::move(Model)), Sig(this->Model->Sig), C(this->Model->Of->C),
        Who(this->Model->Of->Who), Runner(Runner) {}
  ~ModuleEngine() override { C.delete_runner(Runner); }

  /// Gets memory for the inputs, and places for the outputs.
  Status prepare();
  MutableBytes input(size_t I) override {
    return Kept ? Kept->bytes(I) : Lent[I];
  }
  Status resize(size_t I, Span<const int64_t> Extents) override;
  Status setStrings(size_t I, Span<const std::string_view> Values,
                    Span<const int64_t> Extents) override;
  TensorView output(size_t I) const override { return Outputs[I]; }
  Status run(const Call &Given) override;
  Status endEpisode(const Call &Given) override;

private:
  Status told(cbridge_code Code) { return status(Code, Error, Who); }
  cbridge_call call(const Call &Given);
  Status borrow(size_t I, size_t Size);
  Status fetchOutput(size_t I);

  std::shared_ptr<const ModuleModel> Model;
  const Signature &Sig;
  const cbridge_runner_type &C;
  const std::string &Who;
  void *Runner;
  std::optional<TensorStorage> Kept; // the inputs, if the host keeps them
  std::vector<MutableBytes> Lent;    // the inputs, if the module does
  Tensors Features;
  std::vector<cbridge_text> Texts;
  std::vector<std::array<int64_t, MaxRank>> Extents; // of outputs
  std::vector<TensorView> Outputs;
  cbridge_error Error;
};

Status ModuleEngine::prepare() {
  Error.message[0] = 0;
  Extents.resize(Sig.outputs().size());
  for (const TensorSpec &Spec : Sig.outputs())
    Outputs.push_back({&Spec, {}, {}});
  if (!C.input) {
    Kept.emplace(Sig.inputs());
    return Kept->status();
  }
  Lent.resize(Sig.inputs().size());
  for (size_t I = 0; I < Lent.size(); ++I) {
    const TensorSpec &Spec = Sig.inputs()[I];
    if (Spec.isFixed())
      if (Status S = borrow(I, Spec.elementCount() * sizeOf(Spec.type())); !S)
        return S;
  }
  return Status();
}

/// Asks where input I lies, which must be Size bytes.
Status ModuleEngine::borrow(size_t I, size_t Size) {
  void *Data = nullptr;
  size_t Given = 0;
  if (Status S = told(C.input(Runner, I, &Data, &Given, &Error)); !S)
    return S;
  const TensorSpec &Spec = Sig.inputs()[I];
  if (Given != Size || (!Data && Size) ||
      reinterpret_cast<uintptr_t>(Data) % sizeOf(Spec.type()))
    return Status::error(StatusCode::Protocol,
                         Who + ": feature '" + Spec.name() + "' needs " +
                             std::to_string(Size) + " aligned bytes, not " +
                             std::to_string(Data ? Given : 0));
  Lent[I] = {static_cast<unsigned char *>(Data), Given};
  return Status();
}

Status ModuleEngine::resize(size_t I, Span<const int64_t> To) {
  if (Kept)
    return Kept->resize(I, To);
  const TensorSpec &Spec = Sig.inputs()[I];
  if (Status S = Spec.checkExtents(To); !S)
    return S;
  Expected<size_t> Count = elementCount(To);
  if (!Count)
    return Count.status();
  size_t Element = sizeOf(Spec.type());
  if (Spec.isFixed() || Spec.isString())
    return Status();
  if (*Count > TensorStorage::MaxTensorBytes / Element)
    return Status::error(StatusCode::OutOfMemory,
                         "'" + Spec.name() + "' is too large");
  Lent[I] = {};
  if (Status S = told(C.resize(Runner, I, To.data(), &Error)); !S)
    return S;
  return borrow(I, *Count * Element);
}

Status ModuleEngine::setStrings(size_t I, Span<const std::string_view> Values,
                                Span<const int64_t> To) {
  if (Kept)
    return Kept->setStrings(I, Values, To);
  const TensorSpec &Spec = Sig.inputs()[I];
  if (Status S = Spec.checkExtents(To); !S)
    return S;
  Expected<size_t> Count = elementCount(To);
  if (!Spec.isString() || !Count || *Count != Values.size())
    return Status::error(StatusCode::ShapeMismatch,
                         "'" + Spec.name() + "' does not have " +
                             std::to_string(Values.size()) + " strings");
  Texts.clear();
  for (std::string_view Each : Values)
    Texts.push_back(text(Each));
  return told(
      C.set_strings(Runner, I, Texts.data(), Texts.size(), To.data(), &Error));
}

cbridge_call ModuleEngine::call(const Call &Given) {
  cbridge_call To = {};
  To.size = sizeof(To);
  To.until = deadline(Given.Until);
  To.context = text(Given.Context);
  To.has_reward = Given.Reward.has_value();
  To.reward = Given.Reward.value_or(0);
  To.truncated = Given.Truncated;
  if (Kept) {
    fill(Features, Kept->views());
    To.inputs = Features.data();
  }
  Error.message[0] = 0;
  return To;
}

Status ModuleEngine::fetchOutput(size_t I) {
  cbridge_tensor T = {};
  if (Status S = told(C.output(Runner, I, &T, &Error)); !S)
    return S;
  const TensorSpec &Spec = Sig.outputs()[I];
  size_t Rank = Spec.shape().size();
  if (!T.extents && Rank)
    return Status::error(StatusCode::Protocol,
                         "'" + Spec.name() + "' has no extents");
  // Before it is used: the module may change its own.
  std::copy_n(T.extents, Rank, Extents[I].begin());
  Span<const int64_t> Shape(Extents[I].data(), Rank);
  if (Status S = checkTensor(Spec, Shape, bytes(T.data)); !S)
    return S;
  Outputs[I] = {&Spec, Shape, bytes(T.data)};
  return Status();
}

Status ModuleEngine::run(const Call &Given) {
  cbridge_call With = call(Given);
  if (Status S = told(C.run(Runner, &With, &Error)); !S)
    return S;
  for (size_t I = 0; I < Outputs.size(); ++I)
    if (Status S = fetchOutput(I); !S)
      return S.withContext(Who + ": decision");
  return Status();
}

Status ModuleEngine::endEpisode(const Call &Given) {
  if (!C.end_episode)
    return Status();
  cbridge_call With = call(Given);
  return told(C.end_episode(Runner, &With, &Error));
}

Expected<std::unique_ptr<Engine>>
newRunner(const std::shared_ptr<const ModuleModel> &Model) {
  const RunnerType &Of = *Model->Of;
  void *Runner = nullptr;
  cbridge_error Error = {};
  if (Status S = status(Of.C.new_runner(Model->Handle, &Runner, &Error), Error,
                        Of.Who);
      !S)
    return S;
  auto Made = std::make_unique<ModuleEngine>(Model, Runner);
  if (Status S = Made->prepare(); !S)
    return S;
  return std::unique_ptr<Engine>(std::move(Made));
}

Expected<EngineSource> open(const std::shared_ptr<const RunnerType> &Of,
                            const RunnerString &R, const Signature &Sig) {
  auto Model = std::make_shared<ModuleModel>(Of, Sig);
  cbridge_address Address{R, {}};
  cbridge_error Error = {};
  if (Status S =
          status(Of->C.open(&Address, &Model->InC, &Model->Handle, &Error),
                 Error, Of->Who);
      !S)
    return S;
  Model->Opened = true;
  return EngineSource([Model = std::shared_ptr<const ModuleModel>(
                           std::move(Model))] { return newRunner(Model); });
}

/// What a module tells of a model.
struct Description {
  const std::string &Who;
  Expected<Signature> Told =
      Status::error(StatusCode::Protocol, Who + ": describes nothing");

  static void tell(void *To, const cbridge_signature *Sig) {
    static_cast<Description *>(To)->take(Sig);
  }

private:
  void take(const cbridge_signature *Sig) {
    std::vector<TensorSpec> Inputs, Outputs;
    Status S = Sig ? Status() : wrong("null");
    if (S.ok())
      S = list(Inputs, Sig->inputs, Sig->input_count);
    if (S.ok())
      S = list(Outputs, Sig->outputs, Sig->output_count);
    Signature Made(std::move(Inputs), std::move(Outputs));
    if (S.ok())
      S = Made.validate().withContext(Who);
    if (S.ok())
      Told = std::move(Made);
    else
      Told = S;
  }
  Status list(std::vector<TensorSpec> &To, const cbridge_spec *From,
              size_t Count) const {
    if (Count > MaxTensors || (Count && !From))
      return wrong(std::to_string(Count) + " tensors");
    for (const cbridge_spec &Each : Span<const cbridge_spec>(From, Count)) {
      if (Each.type < 0 || Each.type > CBRIDGE_STRING || Each.rank > MaxRank ||
          (Each.rank && !Each.shape))
        return wrong("'" + std::string(text(Each.name)) +
                     "' of no known type or shape");
      To.emplace_back(std::string(text(Each.name)), ElementType(Each.type),
                      std::vector<int64_t>(Each.shape, Each.shape + Each.rank));
    }
    return Status();
  }
  Status wrong(const std::string &What) const {
    return Status::error(StatusCode::Protocol, Who + ": describes " + What);
  }
};

Expected<Signature> describe(const RunnerType &Of, const RunnerString &R) {
  Description To{Of.Who};
  cbridge_address Address{R, {}};
  cbridge_error Error = {};
  if (Status S = status(Of.C.describe(&Address, Description::tell, &To, &Error),
                        Error, Of.Who);
      !S)
    return S;
  return std::move(To.Told);
}

} // namespace

Expected<Scheme> runnerScheme(const cbridge_runner_type *Theirs,
                              const std::string &Who) {
  auto Of = std::make_shared<RunnerType>(RunnerType{copied(Theirs), Who});
  const cbridge_runner_type &C = Of->C;
  if (!C.scheme)
    return lacks(Who, "a runner", "scheme");
  const char *Missing = !C.open            ? "open"
                        : !C.close         ? "close"
                        : !C.new_runner    ? "new_runner"
                        : !C.delete_runner ? "delete_runner"
                        : !C.run           ? "run"
                        : !C.output        ? "output"
                                           : nullptr;
  // Who has memory for the inputs has all that belongs to it.
  if (!Missing && (C.input || C.resize || C.set_strings))
    Missing = !C.input         ? "input"
              : !C.resize      ? "resize"
              : !C.set_strings ? "set_strings"
                               : nullptr;
  if (Missing)
    return lacks(Who, C.scheme, Missing);
  Scheme Made{C.scheme, C.help ? C.help : "", keyList(C.keys),
              [Of](const RunnerString &R, const Signature &Sig) {
                return open(Of, R, Sig);
              }};
  if (C.claims)
    Made.Claims = [Of](const RunnerString &R) {
      cbridge_address Address{R, {}};
      return Of->C.claims(&Address) != 0;
    };
  if (C.describe)
    Made.Describe = [Of](const RunnerString &R) { return describe(*Of, R); };
  return Made;
}

} // namespace cbridge::c
