//===- ModelsUnderTest.h - The models that engines are asked for *- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_MODELSUNDERTEST_H
#define CBRIDGE_TESTS_CONFORMANCE_MODELSUNDERTEST_H

#include <cbridge/Signature.h>

#include <string>
#include <utility>
#include <vector>

namespace cbridge::conformance {

/// A model that every engine should have, or say that it cannot: its name, and
/// the signature of a pass that uses it. What it computes: Reference.cpp.
struct ModelUnderTest {
  std::string Name;
  Signature Pass;
};

/// All of them.
inline std::vector<ModelUnderTest> modelsUnderTest() {
  auto Floats = [](const char *Name, std::vector<int64_t> Shape) {
    return TensorSpec::create<float>(Name, std::move(Shape));
  };
  using Specs = std::vector<TensorSpec>;
  std::vector<ModelUnderTest> All = {
      {"affine", {{Floats("x", {4})}, Floats("y", {3})}},
      {"argmax",
       {{Floats("scores", {8})}, TensorSpec::create<int64_t>("action")}},
      // Here the model itself has leading extents of 1: [1,4] and [1,3].
      {"batched", {{Floats("x", {4})}, Floats("y", {3})}},
      {"dynamic",
       {{Floats("rows", {Dynamic, 3})},
        Specs{Floats("sum", {3}), Floats("doubled", {Dynamic, 3})}}},
      {"identity", {{Floats("x", {4})}, Floats("y", {4})}},
      // In another order than the model's.
      {"multi",
       {{TensorSpec::create<bool>("flag"), Floats("reals", {2, 2}),
         TensorSpec::create<int64_t>("ints", {3})},
        Specs{TensorSpec::create<bool>("not_flag"),
              TensorSpec::create<int64_t>("total"), Floats("scaled", {2, 2})}}},
      {"no_inputs", {{}, TensorSpec::create<int64_t>("y", {2})}},
      {"not_a_number", {{Floats("x", {1})}, Floats("y", {1})}},
      {"rank8",
       {{TensorSpec::create<int32_t>("x", {2, 1, 2, 1, 2, 1, 2, 3})},
        TensorSpec::create<int32_t>("y", {3, 2, 1, 2, 1, 2, 1, 2})}},
      {"scalar", {{Floats("x", {})}, Floats("y", {})}},
      // Whose two features are as long as each other.
      {"symbolic",
       {{TensorSpec::create<int64_t>("a", {Dynamic}),
         TensorSpec::create<int64_t>("b", {Dynamic})},
        TensorSpec::create<int64_t>("y", {Dynamic})}},
  };
  for (int T = 0; T <= int(ElementType::String); ++T) {
    auto Type = static_cast<ElementType>(T);
    All.push_back({"elements_" + std::string(toString(Type)),
                   {{TensorSpec("x", Type, {3})}, TensorSpec("y", Type, {3})}});
  }
  return All;
}

/// The signature of the pass that uses the model of this name.
inline Signature passOf(std::string_view Name) {
  for (ModelUnderTest &Each : modelsUnderTest())
    if (Each.Name == Name)
      return std::move(Each.Pass);
  return {};
}

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_MODELSUNDERTEST_H
