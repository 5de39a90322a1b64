//===- InlineModel.cpp - The inlining model of a process ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineModel.h"

#include "Settings.h"

#include <cbridge/PassModel.h>

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSwitch.h>

namespace cbridge::passes {

namespace {

/// Where a question has no other effect than its answer, so that more of them
/// may be asked than there are decisions.
bool answersQuestionsFreely(const RunnerString &R) {
  return !R.has("record") && llvm::StringSwitch<bool>(R.scheme())
                                 .Cases("native", "onnx", "tf", "tflite", true)
                                 .Default(false);
}

} // namespace

const InlineModel &InlineModel::ofProcess() {
  static const auto &Only = *new InlineModel;
  return Only;
}

InlineModel::InlineModel() { open(valueOf(Setting::InlineModel)); }

void InlineModel::open(const std::string &Text) {
  const std::string By = "inlining by " + Text;
  auto Refuse = [By](const Status &Why) {
    tellUser(By, Why, "LLVM's own heuristic decides");
  };
  Expected<RunnerString> R = RunnerString::parse(Text);
  if (!R)
    return Refuse(R.status());
  Records = R->has("record");
  readExplain(valueOf(Setting::InlineExplain), *R);

  // A model in this process tells what it takes; for others users do.
  std::string Named = valueOf(Setting::InlineFeatures);
  Expected<Signature> Described = Model::describe(Text);
  if (Described)
    Score = Described->outputIndex(ScoreName).has_value();
  if (Described)
    Extras = extraFeaturesOf(*Described);
  if (!Named.empty()) {
    Expected<ExtraFeatures> More = parseExtraFeatures(Named);
    if (!More)
      return Refuse(More.status());
    Extras = joined(Extras, *More);
  }

  // cbridge: begin
  Expected<Model> M = Model::open(
      Text, inlineSignature(Extras, Score), [By](const Status &Why) {
        tellUser(By, Why,
                 "LLVM's own heuristic decides where the model does not");
      });
  if (!M)
    return Refuse(M.status());
  Opened = std::move(*M);
  // cbridge: end
  if (isLost()) // nobody will ask it, and hear why it does not answer
    Refuse(Opened->whyNot());
}

void InlineModel::readExplain(const std::string &Text, const RunnerString &R) {
  auto Refuse = [&](const std::string &Why) {
    Explain = 0;
    tellUser("inlining by " + R.text(),
             Status::error(StatusCode::InvalidArgument, Why),
             "its decisions are not explained");
  };
  if (Text.empty() || Text == "0")
    return;
  if (llvm::StringRef(Text).getAsInteger(10, Explain))
    Refuse("'" + Text + "' is no number of features that remarks can name");
  else if (!answersQuestionsFreely(R))
    Refuse("to explain is to ask more than there is to decide, which only "
           "native:, onnx:, tf: and tflite: without record= allow");
}

bool InlineModel::isLost() const {
  if (!Opened)
    return true;
  Status Why = Opened->whyNot();
  return !Why.ok() && Why.code() != StatusCode::Abstained;
}

bool InlineModel::wantsCalls() const {
  return !isLost() && (Opened->whyNot().ok() || Records);
}

} // namespace cbridge::passes
