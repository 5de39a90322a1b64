//===- Native.cpp - Models that cbridge compile has made ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/native/Native.h"

#include "engine/native/NativeEngine.h"

/// Defined by the file that cbridge_add_model generates; null without one.
/// Hidden: a plugin has its own models, whatever else the compiler has loaded.
extern "C" __attribute__((weak, visibility("hidden")))
const cbridge_native_model *const *
cbridge_linked_models(void);

namespace cbridge {

using native::NativeModel;
using native::NativeTable;
using native::NativeWeights;

std::vector<const cbridge_native_model *> linkedModels() {
  std::vector<const cbridge_native_model *> Models;
  if (cbridge_linked_models)
    for (auto *Each = cbridge_linked_models(); Each && *Each; ++Each)
      Models.push_back(*Each);
  return Models;
}

std::string listed(Span<const cbridge_native_model *const> Models) {
  std::string Names;
  for (const cbridge_native_model *Each : Models)
    Names += (Names.empty() ? "'" : ", '") +
             std::string(Each->name ? Each->name : "?") + "'";
  return Names.empty() ? "none" : Names;
}

Expected<const cbridge_native_model *> linkedModel(const std::string &Name) {
  std::vector<const cbridge_native_model *> Models = linkedModels();
  for (const cbridge_native_model *Each : Models)
    if (Each->name && Each->name == Name)
      return Each;
  std::string Why = "there is no model '" + Name +
                    "' in this program, which has " + listed(Models) +
                    " (CMake's cbridge_add_model adds one";
  if (Models.empty())
    Why += "; programs built without it define cbridge_linked_models, see "
           "docs/guide/deploy-native.md";
  return Status::error(StatusCode::Unsupported,
                       Why +
                           "); a file is native:FILE.so or has a slash in it");
}

namespace {

Expected<int> chooseLevel(const NativeTable &Table, const std::string &Who,
                          const RunnerString &R) {
  if (!R.has("level"))
    return Table.bestLevel();
  const std::vector<std::string> &Levels = Table.levels();
  std::string Known;
  for (size_t I = 0; I < Levels.size(); ++I) {
    Known += (I ? ", " : "") + Levels[I];
    if (Levels[I] != R.option("level"))
      continue;
    if (int(I) <= Table.bestLevel())
      return int(I);
    return Status::error(StatusCode::Unsupported,
                         Who + ": this processor is not of level " + Levels[I] +
                             "; the best that it has is " +
                             Levels[size_t(Table.bestLevel())]);
  }
  return R.errorAt("level", "expected one of: " + Known);
}

/// Fails for fixed extents of the pass that the model never takes.
Status checkFixed(const NativeModel &Model) {
  const Signature &Own = Model.Table.signature();
  for (size_t I = 0; I < Own.inputs().size(); ++I) {
    const TensorSpec &Feature = Model.Pass.inputs()[Model.Fit.Inputs[I]];
    int64_t Aligned[MaxRank];
    if (!Feature.isFixed())
      continue;
    if (Status S = Model.fitExtents(I, Feature.shape(),
                                    {Aligned, Own.inputs()[I].shape().size()});
        !S)
      return S;
  }
  return Status();
}

Expected<std::unique_ptr<Engine>>
makeRunner(const std::shared_ptr<const NativeModel> &Model) {
  auto Made = std::make_unique<native::NativeEngine>(Model);
  if (Status S = Made->prepare(); !S)
    return S;
  return std::unique_ptr<Engine>(std::move(Made));
}

} // namespace

Expected<EngineSource> openNative(const cbridge_native_model *Of,
                                  const std::string &Who, const RunnerString &R,
                                  const Signature &Sig) {
  Expected<NativeTable> Table = NativeTable::read(Of, Who);
  if (!Table)
    return Table.status();
  Expected<int> Level = chooseLevel(*Table, Who, R);
  if (!Level)
    return Level.status();
  Expected<SignatureFit> Fit = SignatureFit::of(Sig, Table->signature());
  if (!Fit)
    return Fit.status().withContext(Who);
  std::optional<NativeWeights> Weights;
  if (R.has("weights")) {
    Expected<NativeWeights> Read =
        NativeWeights::read(R.option("weights"), *Table);
    if (!Read)
      return Read.status().withContext(Who);
    Weights = std::move(*Read);
  } else if (!(*Table)->weights_embedded) {
    return Status::error(StatusCode::Unsupported,
                         Who + ": has no weights of its own, since it was "
                               "compiled with --weights=file; name theirs: "
                               "weights=FILE");
  }
  std::vector<size_t> InputOf(Sig.inputs().size(), NativeModel::None);
  for (size_t I = 0; I < Fit->Inputs.size(); ++I)
    InputOf[Fit->Inputs[I]] = I;
  auto Model = std::make_shared<const NativeModel>(
      NativeModel{Who, std::move(*Table), *Level, std::move(Weights), Sig,
                  std::move(*Fit), std::move(InputOf)});
  if (Status S = checkFixed(*Model); !S)
    return S;
  return EngineSource([Model] { return makeRunner(Model); });
}

Expected<Signature> describeNative(const cbridge_native_model *Of,
                                   const std::string &Who) {
  Expected<NativeTable> Table = NativeTable::read(Of, Who);
  if (!Table)
    return Table.status();
  return Table->signature();
}

} // namespace cbridge
