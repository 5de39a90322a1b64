//===- Tflite.cpp - Models under training ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/tflite/Tflite.h"

#include "engine/SignatureFit.h"
#include "engine/tflite/TfliteInterpreter.h"
#include "os/Folder.h"
#include "os/ReadFile.h"

#include <cstring>
#include <mutex>

namespace cbridge {

namespace {

/// A specification has few outputs.
constexpr size_t MaxSpecFile = size_t(16) << 20;

/// What all runners of one model share.
struct TfliteShared {
  std::shared_ptr<const TfliteModel> Model;
  Signature Pass;
  std::vector<TensorSpec> Inputs;    // of the model
  std::vector<size_t> Features;      // of each of them
  std::vector<size_t> OutputTensors; // of each decision
  std::mutex Using;
  std::unique_ptr<TfliteInterpreter> First; // for the first runner
};

/// TFLite puts other tensors where its inputs were, once it has read them; so
/// the features have memory of their own, and are copied.
class TfliteEngine : public BufferedEngine {
public:
  TfliteEngine(std::shared_ptr<const TfliteShared> Of,
               std::unique_ptr<TfliteInterpreter> By)
      : BufferedEngine(Of->Pass), Of(std::move(Of)), By(std::move(By)) {}

  Status run(const Call &) override {
    for (size_t I = 0; I < Of->Inputs.size(); ++I)
      if (Status S = giveExtents(I); !S)
        return S;
    if (Status S = By->allocate(); !S)
      return asDecision(S);
    for (size_t I = 0; I < Of->Inputs.size(); ++I)
      if (Status S = By->setInput(I, feature(I).Data); !S)
        return S;
    if (Status S = By->invoke(); !S)
      return S;
    for (size_t I = 0; I < Of->OutputTensors.size(); ++I)
      if (Status S = takeOutput(I); !S)
        return S;
    return Status();
  }

private:
  TensorView feature(size_t I) const { return Inputs.view(Of->Features[I]); }

  /// With other extents it may work again.
  static Status asDecision(const Status &S) {
    return Status::error(StatusCode::ShapeMismatch, S.message());
  }

  Status giveExtents(size_t I) {
    const TensorSpec &Wanted = Of->Inputs[I];
    TensorView Given = feature(I);
    int64_t Extents[MaxRank];
    Span<int64_t> Aligned(Extents, Wanted.shape().size());
    alignExtents(Given.Extents, Aligned);
    Expected<size_t> Count = elementCount(Aligned);
    if (!Wanted.checkExtents(Aligned).ok() || !Count ||
        *Count != Given.elementCount())
      return Status::error(
          StatusCode::ShapeMismatch,
          Of->Model->File + ": input '" + Given.Spec->name() +
              "': the model wants " + Wanted.typeAndShape() +
              ", the pass gives " +
              TensorSpec(Given.Spec->name(), Given.Spec->type(),
                         {Given.Extents.begin(), Given.Extents.end()})
                  .typeAndShape());
    return By->setExtents(I, Aligned);
  }

  Status takeOutput(size_t I) {
    const TensorSpec &Spec = Outputs.spec(I);
    int64_t Extents[MaxRank], Aligned[MaxRank];
    size_t Rank = 0;
    Expected<Bytes> From =
        By->output(Of->OutputTensors[I], Spec.type(), Extents, Rank);
    if (!From)
      return From.status();
    Span<int64_t> Shape(Aligned, Spec.shape().size());
    alignExtents({Extents, Rank}, Shape);
    Status S = Outputs.resize(I, Shape);
    if (!S.ok() || Outputs.bytes(I).size() != From->size())
      return Status::error(
          StatusCode::ShapeMismatch,
          Of->Model->File + ": output '" + Spec.name() + "': the model gives " +
              TensorSpec(Spec.name(), Spec.type(), {Extents, Extents + Rank})
                  .typeAndShape() +
              ", the pass wants " + Spec.typeAndShape());
    unsigned char *To = Outputs.bytes(I).data();
    if (!From->empty())
      std::memcpy(To, From->data(), From->size());
    // A constant in a file may be any byte, which no bool of C++ may be.
    if (Spec.type() == ElementType::Bool)
      for (size_t B = 0; B < From->size(); ++B)
        To[B] = To[B] != 0;
    return Status();
  }

  std::shared_ptr<const TfliteShared> Of;
  std::unique_ptr<TfliteInterpreter> By;
};

/// TensorFlow calls an input `SIGNATURE_NAME:0`. The pass's name for it is the
/// first of these that the pass has, or else the shortest.
std::string featureName(std::string_view Name, const Signature &Pass) {
  if (Pass.inputIndex(Name))
    return std::string(Name);
  if (Name.size() > 2 && Name.substr(Name.size() - 2) == ":0")
    Name.remove_suffix(2);
  if (Pass.inputIndex(Name))
    return std::string(Name);
  for (std::string_view Prefix : {"action_", "serving_default_"})
    if (Name.size() > Prefix.size() && Name.substr(0, Prefix.size()) == Prefix)
      return std::string(Name.substr(Prefix.size()));
  return std::string(Name);
}

Expected<std::vector<OutputSpec>> readSpecFile(const std::string &File) {
  Expected<os::FileContent> Content = os::readFile(File, MaxSpecFile);
  if (!Content)
    return Content.status();
  return readOutputSpecs(Content->text(), File);
}

/// What a folder has.
struct TfliteFolder {
  std::shared_ptr<const TfliteModel> Model;
  std::unique_ptr<TfliteInterpreter> First;
  Signature Own;               // by the pass's names
  std::vector<size_t> Tensors; // of each of its outputs
};

Expected<TfliteFolder> openFolder(const RunnerString &R,
                                  const Signature &Pass) {
  if (R.target().empty())
    return R.errorAtTarget(
        "expected a directory with model.tflite and output_spec.json");
  if (!os::isFolder(R.target()))
    return Status::error(StatusCode::Unavailable,
                         R.target() + ": there is no such directory");
  TfliteFolder To;
  std::string SpecFile = R.target() + "/output_spec.json";
  Expected<std::vector<OutputSpec>> Specs = readSpecFile(SpecFile);
  if (!Specs)
    return Specs.status();
  Expected<std::shared_ptr<const TfliteModel>> Model =
      TfliteModel::load(R.target() + "/model.tflite");
  if (!Model)
    return Model.status();
  To.Model = std::move(*Model);
  Expected<std::unique_ptr<TfliteInterpreter>> First =
      TfliteInterpreter::create(To.Model);
  if (!First)
    return First.status();
  To.First = std::move(*First);
  Expected<std::vector<TensorSpec>> Theirs = To.First->inputs();
  if (!Theirs)
    return Theirs.status();
  std::vector<TensorSpec> Inputs, Outputs;
  for (const TensorSpec &Each : *Theirs)
    Inputs.emplace_back(
        featureName(Each.name(), Pass), Each.type(),
        std::vector<int64_t>(Each.shape().begin(), Each.shape().end()));
  for (const OutputSpec &Each : *Specs) {
    Expected<size_t> I = To.First->findOutput(Each, SpecFile);
    if (!I)
      return I.status();
    Outputs.push_back(Each.Spec);
    To.Tensors.push_back(*I);
  }
  To.Own = Signature(std::move(Inputs), std::move(Outputs));
  return To;
}

Expected<EngineSource> open(const RunnerString &R, const Signature &Sig) {
  Expected<TfliteFolder> Folder = openFolder(R, Sig);
  if (!Folder)
    return Folder.status();
  Expected<SignatureFit> Fit = SignatureFit::of(Sig, Folder->Own);
  if (!Fit)
    return Fit.status().withContext(Folder->Model->File);
  auto Shared = std::make_shared<TfliteShared>();
  Shared->Model = std::move(Folder->Model);
  Shared->Pass = Sig;
  Shared->Inputs = Folder->Own.inputs();
  Shared->Features = std::move(Fit->Inputs);
  for (size_t Output : Fit->Outputs)
    Shared->OutputTensors.push_back(Folder->Tensors[Output]);
  Shared->First = std::move(Folder->First);
  return EngineSource([Shared]() -> Expected<std::unique_ptr<Engine>> {
    std::unique_ptr<TfliteInterpreter> By;
    {
      std::lock_guard<std::mutex> Lock(Shared->Using);
      By = std::move(Shared->First);
    }
    if (!By) {
      Expected<std::unique_ptr<TfliteInterpreter>> Another =
          TfliteInterpreter::create(Shared->Model);
      if (!Another)
        return Another.status();
      By = std::move(*Another);
    }
    return makeEngine<TfliteEngine>(Shared, std::move(By));
  });
}

Expected<Signature> describe(const RunnerString &R) {
  Expected<TfliteFolder> Folder = openFolder(R, Signature());
  if (!Folder)
    return Folder.status();
  if (Status S = Folder->Own.validate(); !S)
    return S.withContext(Folder->Model->File);
  return std::move(Folder->Own);
}

} // namespace

Scheme tfliteScheme() {
  Scheme Made{
      "tflite",
      "tflite:DIR evaluates DIR/model.tflite, as DIR/output_spec.json says",
      {},
      open};
  Made.Describe = describe;
  return Made;
}

} // namespace cbridge
