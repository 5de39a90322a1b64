//===- InlineModel.cpp - The inlining model of a process ------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "InlineModel.h"

#include "Settings.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSwitch.h>

#include <cstdio>

namespace cbridge::passes {

namespace {

/// One plain line. Not through the compiler's diagnostics: under -Werror a
/// warning there fails the compile.
void say(const std::string &Line) {
  std::string Text = "cbridge: " + Line + "\n";
  std::fwrite(Text.data(), 1, Text.size(), stderr);
}

/// A message without the lines that point at a place in a string.
std::string firstLine(const Status &Why) {
  return Why.message().substr(0, Why.message().find('\n'));
}

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
  auto Refuse = [](const std::string &Why) {
    say("inlining: " + Why + "; LLVM's own heuristic decides");
  };
  Expected<RunnerString> R = RunnerString::parse(Text);
  if (!R)
    return Refuse("'" + Text + "': " + firstLine(R.status()));
  Records = R->has("record");
  readExplain(valueOf(Setting::InlineExplain), *R);

  // A model in this process tells what it takes; for others users do.
  std::string Named = valueOf(Setting::InlineFeatures);
  Expected<Signature> Described = Model::describe(Text);
  if (Described)
    Score = Described->outputIndex(ScoreName).has_value();
  if (!Named.empty()) {
    Expected<std::vector<ExtraFeature>> Parsed = parseExtraFeatures(Named);
    if (!Parsed)
      return Refuse(Parsed.status().message());
    Extras = std::move(*Parsed);
  } else if (Described) {
    Extras = extraFeaturesOf(*Described);
  }

  Expected<Model> M = Model::open(
      Text, inlineSignature(Extras, Score), [Text](const Status &Why) {
        say("inlining by " + Text + ": " + firstLine(Why) +
            "; LLVM's own heuristic decides where the model does not");
      });
  if (!M)
    return Refuse("'" + Text + "': " + firstLine(M.status()));
  Opened = std::move(*M);
  if (isLost()) // nobody will ask it, and hear why it does not answer
    Refuse(Text + ": " + firstLine(Opened->whyNot()));
}

void InlineModel::readExplain(const std::string &Text, const RunnerString &R) {
  if (Text.empty() || Text == "0")
    return;
  if (llvm::StringRef(Text).getAsInteger(10, Explain)) {
    Explain = 0;
    say("inlining: '" + Text +
        "' is no number of features that remarks should name");
  } else if (!answersQuestionsFreely(R)) {
    Explain = 0;
    say("inlining: decisions of " + R.text() +
        " cannot be explained: that asks more than there is to decide, for "
        "which native:, onnx:, tf: and tflite: without record= are fit");
  }
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
