//===- Model.cpp - A runner string opened on a signature ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include "runner/ModelShared.h"
#include "runner/Recorder.h"

namespace cbridge {

namespace {

/// Takes features and declines to decide.
class AbstainingEngine : public BufferedEngine {
public:
  AbstainingEngine(const Signature &Sig, Status Why)
      : BufferedEngine(Sig), Why(std::move(Why)) {}
  Status run(const Call &) override { return Why; }

private:
  Status Why;
};

Status checkKeys(const RunnerString &R, const Scheme &Of) {
  std::vector<std::string_view> Keys = {"on_error", "record"};
  Keys.insert(Keys.end(), Of.Keys.begin(), Of.Keys.end());
  return R.checkKeys(Keys);
}

} // namespace

Expected<Signature> Model::describe(std::string_view Text,
                                    const Registry &Schemes) {
  Expected<RunnerString> Parsed = RunnerString::parse(Text);
  if (!Parsed)
    return Parsed.status();
  Expected<Scheme> Found = Schemes.lookUp(*Parsed);
  if (!Found)
    return Found.status();
  if (Status S = checkKeys(*Parsed, *Found); !S)
    return S;
  if (!Found->Describe)
    return Status::error(StatusCode::Unsupported,
                         "'" + Found->Name +
                             ":' does not know what its models take and give: "
                             "its user has to say it");
  return Found->Describe(*Parsed);
}

Expected<Model> Model::open(std::string_view Text, Signature Sig,
                            const Registry &Schemes, FallbackSink OnFallback) {
  Expected<RunnerString> Parsed = RunnerString::parse(Text);
  if (!Parsed)
    return Parsed.status();
  Expected<Scheme> Found = Schemes.lookUp(*Parsed);
  if (!Found && Found.status().code() == StatusCode::InvalidArgument)
    return Found.status();
  if (Found)
    if (Status S = checkKeys(*Parsed, *Found); !S)
      return S;
  Expected<std::string> OnError =
      Parsed->choice("on_error", {"fallback", "fail"});
  if (!OnError)
    return OnError.status();
  if (Status S = Sig.validate(); !S)
    return S;

  auto Made = std::make_shared<Shared>();
  Made->Text = Text;
  Made->Sig = std::move(Sig);
  Made->OnFallback = std::move(OnFallback);
  for (size_t I = 0; I < Made->Sig.inputs().size(); ++I)
    Made->InputIndex.emplace(Made->Sig.inputs()[I].name(), I);

  Expected<EngineSource> Source =
      Found ? Found->Open(*Parsed, Made->Sig) : Found.status();
  if (Source)
    Made->Source = std::move(*Source);
  else if (*OnError == "fail" ||
           Source.status().code() == StatusCode::InvalidArgument)
    return Source.status();
  else
    Made->close(Source.status());

  if (Parsed->has("record")) {
    std::string Folder = Parsed->option("record");
    if (Folder.empty())
      return Parsed->errorAt("record", "expected a directory");
    Expected<std::shared_ptr<Recording>> Record =
        Recording::open(std::move(Folder), Made->OnFallback);
    if (Record)
      Made->Record = std::move(*Record);
    else if (*OnError == "fail")
      return Record.status();
    else if (Made->OnFallback)
      Made->OnFallback(Record.status());
  }
  return Model(std::move(Made));
}

MLModelRunner Model::runner() const {
  Status Why = whyNot();
  if (Why.ok()) {
    Expected<std::unique_ptr<Engine>> E = S->Source();
    if (E)
      return MLModelRunner(*this, std::move(*E));
    Why = E.status();
    if (Why.isTransport())
      S->close(Why);
  }
  return MLModelRunner(*this, std::make_unique<AbstainingEngine>(S->Sig, Why));
}

const Signature &Model::signature() const { return S->Sig; }
const std::string &Model::runnerString() const { return S->Text; }

Status Model::whyNot() const {
  const Status *Why = S->closed();
  return Why ? *Why : Status();
}

ModelStats Model::stats() const {
  return {S->Decisions.load(), S->Fallbacks.load(), S->Illegal.load()};
}

} // namespace cbridge
