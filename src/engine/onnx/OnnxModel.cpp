//===- OnnxModel.cpp - An ONNX file opened on a signature -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/OnnxModel.h"

#include "engine/onnx/GraphSignature.h"
#include "engine/onnx/OrtTensors.h"
#include "os/Library.h"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace cbridge::onnx {

/// The library with operators of ours, if it is where it belongs.
static std::string ourOperators() {
  for (const std::string &Place : os::libraryPlaces())
    if (std::string Path = Place + "/cbridge-onnx-ops.so";
        ::access(Path.c_str(), F_OK) == 0)
      return Path;
  return "";
}

static std::string listed(const std::vector<std::string> &Names) {
  std::string Text;
  for (const std::string &Name : Names)
    Text += (Text.empty() ? "" : ", ") + Name;
  return Text;
}

Expected<OrtOwned<OrtSessionOptions>>
OnnxModel::sessionOptions(const OnnxFile &About, const OnnxOptions &O) {
  const OrtApi &Api = Ort.api();
  auto Made = ortMake<OrtSessionOptions>(Ort, Api.ReleaseSessionOptions,
                                         Api.CreateSessionOptions);
  if (!Made)
    return Made;
  OrtSessionOptions *To = Made->get();
  // Arena and pattern have a lock each, which threads would wait for. Threads
  // that spin would take cores from other compilers.
  OrtStatus *Steps[] = {
      Api.SetSessionExecutionMode(To, ORT_SEQUENTIAL),
      Api.SetInterOpNumThreads(To, 1),
      Api.SetIntraOpNumThreads(To, O.Threads),
      Api.AddSessionConfigEntry(To, "session.intra_op.allow_spinning", "0"),
      Api.SetSessionLogSeverityLevel(To, ORT_LOGGING_LEVEL_FATAL),
      Api.DisableCpuMemArena(To),
      Api.DisableMemPattern(To),
  };
  Status Failed;
  for (OrtStatus *Step : Steps)
    if (Status S = Ort.check(Step); !S)
      Failed = S;
  if (!Failed.ok())
    return Failed;
  std::vector<std::string> Libraries = O.CustomOps;
  if (std::string Ours = ourOperators();
      About.UsesOurOperators && Libraries.empty() && !Ours.empty())
    Libraries.push_back(std::move(Ours));
  for (const std::string &Each : Libraries) {
    std::unique_ptr<char, void (*)(void *)> Path(
        ::realpath(Each.c_str(), nullptr), std::free);
    if (!Path)
      return Status::error(StatusCode::Unsupported,
                           "custom operators in " + Each +
                               ": there is no such file");
    Status S = os::checkLibrary(Path.get());
    if (S.ok())
      S = Ort.check(Api.RegisterCustomOpsLibrary_V2(To, Path.get()));
    if (!S)
      return S.withContext("custom operators in " + Each);
  }
  return Made;
}

/// Finds out what the graph has.
Status OnnxModel::describe(const OnnxFile &About) {
  std::vector<TensorSpec> Inputs, Outputs;
  // A tensor without a shape may have any rank, the pass's as well.
  auto Shaped = [&](const TensorSpec &Spec,
                    const std::vector<TensorSpec> &OfPass,
                    std::optional<size_t> I) {
    if (!I || !About.Shapeless.count(Spec.name()))
      return Spec;
    Span<const int64_t> Shape = OfPass[*I].shape();
    return TensorSpec(Spec.name(), Spec.type(), {Shape.begin(), Shape.end()});
  };
  auto In = graphTensors(Ort, Session.get(), Side::Input);
  auto Out = graphTensors(Ort, Session.get(), Side::Output);
  if (!In || !Out)
    return In ? Out.status() : In.status();
  for (const GraphTensor &T : *In) {
    if (!T.Spec)
      return T.Spec.status().withContext("input");
    Inputs.push_back(Shaped(*T.Spec, Pass.inputs(), Pass.inputIndex(T.Name)));
  }
  for (const GraphTensor &T : *Out) {
    std::optional<size_t> I = Pass.outputIndex(T.Name);
    // ONNX Runtime hands over the input's memory instead of filling ours.
    if (I && std::any_of(In->begin(), In->end(), [&](const GraphTensor &Input) {
          return Input.Name == T.Name;
        }))
      return Status::error(StatusCode::Unsupported,
                           "output '" + T.Name +
                               "' is an input, too: put an Identity between");
    if (T.Spec)
      Outputs.push_back(Shaped(*T.Spec, Pass.outputs(), I));
    else if (I) // others may be what they like
      return T.Spec.status().withContext("output");
  }
  Graph = Signature(std::move(Inputs), std::move(Outputs));
  // The metadata must not promise what the graph does not have.
  if (!About.Declared)
    return Status();
  Expected<SignatureFit> Fits =
      SignatureFit::of(*About.Declared, Graph, "the metadata", "the graph");
  return Fits ? Status()
              : Status::error(StatusCode::Unsupported,
                              "metadata 'cbridge.signature': " +
                                  Fits.status().message());
}

Status OnnxModel::load(Bytes Whole, const OnnxFile &About,
                       const OnnxOptions &Options) {
  const OrtApi &Api = Ort.api();
  auto With = sessionOptions(About, Options);
  if (!With)
    return With.status();
  auto Made =
      ortMake<OrtSession>(Ort, Api.ReleaseSession, [&](OrtSession **To) {
        // What lies in other files is looked for beside this one.
        if (About.HasExternalData)
          return Api.CreateSession(Ort.environment(), File.c_str(), With->get(),
                                   To);
        return Api.CreateSessionFromArray(Ort.environment(), Whole.data(),
                                          Whole.size(), With->get(), To);
      });
  if (!Made) {
    bool Lacks = About.UsesOurOperators && Options.CustomOps.empty() &&
                 ourOperators().empty();
    return Status::error(
        StatusCode::Unsupported,
        "ONNX Runtime " + Ort.version() + " says: " + Made.status().message() +
            (Lacks ? "; cbridge-onnx-ops.so, which has the operators of the "
                     "domain compiler_bridge, is not in " +
                         listed(os::libraryPlaces()) +
                         "; CBRIDGE_MODULE_PATH may name more folders"
                   : ""));
  }
  Session = std::move(*Made);
  auto Cpu = ortMake<OrtMemoryInfo>(
      Ort, Api.ReleaseMemoryInfo, [&](OrtMemoryInfo **To) {
        return Api.CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault,
                                       To);
      });
  if (!Cpu)
    return Cpu.status();
  Memory = std::move(*Cpu);
  return describe(About);
}

Expected<OnnxModel::Content> OnnxModel::read(const std::string &File) {
  Expected<os::FileContent> Whole = os::readFile(File, OnnxFile::MaxSize);
  if (!Whole) // it names the file itself
    return Status::error(StatusCode::Unsupported, Whole.status().message());
  Expected<OnnxFile> About = OnnxFile::parse(Whole->bytes());
  if (!About)
    return About.status().withContext(File);
  return Content{std::move(*Whole), std::move(*About)};
}

Expected<std::shared_ptr<OnnxModel>>
OnnxModel::make(const std::string &File, const Content &Of,
                const Signature &Pass, const OnnxOptions &Options) {
  Expected<const OrtLibrary *> Ort = OrtLibrary::get();
  if (!Ort)
    return Ort.status();
  std::shared_ptr<OnnxModel> Made(new OnnxModel(**Ort, File, Pass));
  if (Status S = Made->load(Of.Whole.bytes(), Of.About, Options); !S)
    return S.withContext(File);
  return Made;
}

Expected<std::shared_ptr<const OnnxModel>>
OnnxModel::open(const std::string &File, const Signature &Pass,
                const OnnxOptions &Options) {
  Expected<Content> Of = read(File);
  if (!Of)
    return Of.status();
  Expected<std::shared_ptr<OnnxModel>> Made = make(File, *Of, Pass, Options);
  if (!Made)
    return Made.status();
  Expected<SignatureFit> Fits = SignatureFit::of(Pass, (*Made)->Graph);
  if (!Fits)
    return Fits.status().withContext(File);
  (*Made)->Fit = std::move(*Fits);
  return std::shared_ptr<const OnnxModel>(std::move(*Made));
}

Expected<Signature> OnnxModel::signatureOf(const std::string &File,
                                           const OnnxOptions &Options) {
  Expected<Content> Of = read(File);
  if (!Of)
    return Of.status();
  // A session takes milliseconds, and open() will see if this is true.
  if (Of->About.Declared)
    return std::move(*Of->About.Declared);
  if (std::optional<Signature> Plain = graphSignature(Of->Whole.bytes()))
    return std::move(*Plain);
  auto Made = make(File, *Of, Signature(), Options);
  if (!Made)
    return Made.status();
  return (*Made)->Graph;
}

} // namespace cbridge::onnx
