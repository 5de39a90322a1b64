//===- OrtFloor.cpp - The floor of onnx: ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "BareOrt.h"
#include "Floor.h"

namespace bench {

namespace {

/// One model for vectors of any size up to 50,000, one for those of 64.
class OrtFloor : public Floor {
public:
  OrtFloor(const std::string &AnyFile, const std::string &SmallFile)
      : AnySession(AnyFile), SmallSession(SmallFile),
        Any(AnySession, {{"x", {int64_t(Bound)}}}, {"y", {1}}),
        Small(SmallSession, {{"x", {int64_t(SmallSize)}}}, {"y", {1}}) {}

  float ask(Span<const float> X) override {
    BareBinding &B = X.size() == SmallSize ? Small : Any;
    if (X.size() != SmallSize && X.size() != Bound) {
      Bound = X.size();
      B.resizeInput({int64_t(Bound)});
    }
    std::memcpy(B.input(0), X.data(), X.size() * sizeof(float));
    return B.run()[0];
  }
  void serve(Model, const std::vector<size_t> &) override { std::abort(); }

private:
  static constexpr size_t SmallSize = 64;
  size_t Bound = 50'000;
  BareSession AnySession, SmallSession;
  BareBinding Any, Small;
};

} // namespace

std::unique_ptr<Floor> openOrtFloor(const std::string &Files) {
  size_t Comma = Files.find(',');
  return std::make_unique<OrtFloor>(Files.substr(0, Comma),
                                    Files.substr(Comma + 1));
}

} // namespace bench
