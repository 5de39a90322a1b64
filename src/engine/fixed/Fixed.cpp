//===- Fixed.cpp - constant: and heuristic: -------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/fixed/Fixed.h"

#include <cbridge/Number.h>

#include <charconv>

namespace cbridge {

namespace {

class ConstantEngine : public BufferedEngine {
public:
  using BufferedEngine::BufferedEngine;
  Status run(const Call &) override { return Status(); }

  /// Fills output I; false if Text is no value of its type.
  bool fill(size_t I, const std::string &Text) {
    const TensorSpec &Spec = Outputs.spec(I);
    if (Spec.isString()) {
      std::vector<std::string_view> Same(Spec.elementCount(), Text);
      std::vector<int64_t> Extents(Outputs.view(I).Extents.begin(),
                                   Outputs.view(I).Extents.end());
      return Outputs.setStrings(I, Same, Extents).ok();
    }
    std::optional<Number> Value = parse(Text);
    size_t Size = sizeOf(Spec.type());
    unsigned char Element[8];
    if (!Value || !Value->store(Spec.type(), Element))
      return false;
    MutableBytes Data = Outputs.bytes(I);
    for (size_t At = 0; At < Data.size(); At += Size)
      std::memcpy(Data.data() + At, Element, Size);
    return true;
  }

private:
  template <typename T>
  static std::optional<Number> parseAs(const std::string &Text) {
    T Value{};
    const char *End = Text.data() + Text.size();
    auto [Rest, Error] = std::from_chars(Text.data(), End, Value);
    if (Error != std::errc() || Rest != End)
      return std::nullopt;
    return Number(Value);
  }
  static std::optional<Number> parse(const std::string &Text) {
    if (Text == "true" || Text == "false")
      return Number(Text == "true");
    if (auto N = parseAs<int64_t>(Text))
      return N;
    if (auto N = parseAs<uint64_t>(Text))
      return N;
    return parseAs<double>(Text);
  }
};

Expected<std::unique_ptr<Engine>> makeConstant(const RunnerString &R,
                                               const Signature &Sig) {
  auto Made = std::make_unique<ConstantEngine>(Sig);
  if (Status S = Made->status(); !S)
    return S;
  for (const TensorSpec &Spec : Sig.outputs())
    for (int64_t Extent : Spec.shape())
      if (Extent == Dynamic)
        return R.errorAtTarget("'" + Spec.name() + "' is " +
                               Spec.typeAndShape() +
                               ", which gives no number of elements");
  for (size_t I = 0; I < Sig.outputs().size(); ++I)
    if (!Made->fill(I, R.target()))
      return R.errorAtTarget("'" + R.target() + "' is no value for '" +
                             Sig.outputs()[I].name() + "', which is " +
                             Sig.outputs()[I].typeAndShape());
  return std::unique_ptr<Engine>(std::move(Made));
}

} // namespace

Scheme constantScheme() {
  return {"constant",
          "constant:V decides V, always",
          {},
          [](const RunnerString &R,
             const Signature &Sig) -> Expected<EngineSource> {
            if (auto Probe = makeConstant(R, Sig); !Probe)
              return Probe.status();
            return EngineSource([R, Sig] { return makeConstant(R, Sig); });
          }};
}

Scheme heuristicScheme() {
  return {
      "heuristic",
      "heuristic: leaves every decision to the pass",
      {},
      [](const RunnerString &R, const Signature &) -> Expected<EngineSource> {
        if (!R.target().empty())
          return R.errorAtTarget("'heuristic:' takes no target");
        return Status::error(StatusCode::Abstained, "heuristic: has no model");
      }};
}

} // namespace cbridge
