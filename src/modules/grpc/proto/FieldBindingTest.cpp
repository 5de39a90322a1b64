//===- FieldBindingTest.cpp - What fits, and what is said if not ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/UserProto.h"

#include <cmath>
#include <limits>

using namespace cbridge;

namespace {

constexpr const char Everything[] = "cbridge.test.Everything";
constexpr const char Advised[] = "cbridge.test.Advised";

/// Why it cannot be sent, or its path.
std::string sent(const TensorSpec &Spec, const char *In = Everything) {
  auto B = bindTest({{Spec}, adviceOfTest()}, In, Advised);
  return B ? (*B)->Features[0].Path : B.status().message();
}
StatusCode sentCode(const TensorSpec &Spec) {
  return bindTest({{Spec}, adviceOfTest()}, Everything, Advised)
      .status()
      .code();
}
/// Why it cannot be received, or its path.
std::string received(const TensorSpec &Spec) {
  auto B = bindTest({{}, Spec}, Everything, Everything);
  return B ? (*B)->Decision[0].Path : B.status().message();
}
std::string sentBoth(const TensorSpec &A, const TensorSpec &B) {
  auto Made = bindTest({{A, B}, adviceOfTest()}, Everything, Advised);
  return Made ? "" : Made.status().message();
}

template <typename T>
TensorSpec spec(const char *Name, std::vector<int64_t> Shape = {}) {
  return TensorSpec::create<T>(Name, std::move(Shape));
}

} // namespace

TEST(FieldBindingTest, NamesAndPaths) {
  EXPECT_EQ(sent(spec<int64_t>("i64")), "i64");
  EXPECT_EQ(sent(spec<int64_t>("callee.size")), "callee.size");
  EXPECT_EQ(sent(spec<int64_t>("nodes.size", {Dynamic})), "nodes.size");
  EXPECT_EQ(sent(spec<int64_t>("nodes.detail.depth", {Dynamic})),
            "nodes.detail.depth");
  // Found below, as there is only one.
  EXPECT_EQ(sent(spec<float>("weights", {Dynamic, 3})), "nodes.weights");
  EXPECT_EQ(sent(spec<int64_t>("within")), "other.within");
  // At the top before any other.
  EXPECT_EQ(sent(spec<int64_t>("maybe")), "maybe");
}

TEST(FieldBindingTest, NamesThatAreNoFields) {
  EXPECT_EQ(sent(spec<int64_t>("callee_users")),
            "input 'callee_users': cbridge.test.Everything has no field of "
            "that name");
  EXPECT_EQ(sent(spec<int64_t>("callee.users")),
            "input 'callee.users': cbridge.test.Detail has no field 'users'");
  EXPECT_EQ(sent(spec<int64_t>("none.users")),
            "input 'none.users': cbridge.test.Everything has no field 'none'");
  EXPECT_EQ(sent(spec<int64_t>("size")),
            "input 'size': may be each of callee.size, caller.size, "
            "nodes.size, nodes.detail.size; use the path as its name");
  EXPECT_EQ(sent(spec<int64_t>("callee")),
            "input 'callee': 'callee' is a message; name one of its fields, "
            "with a dot");
  EXPECT_EQ(sent(spec<int64_t>("i64.x")),
            "input 'i64.x': 'i64' is of type sint64, which has no fields");
  EXPECT_EQ(sent(spec<int64_t>("table")),
            "input 'table': 'table' is a map, which no tensor is");
  EXPECT_EQ(sent(spec<int64_t>("table.value")),
            "input 'table.value': 'table' is a map, which no tensor is");
  EXPECT_EQ(sent(spec<int64_t>("pair.half"), "cbridge.old.Needs"),
            "input 'pair.half': 'pair' is a group, which is not supported; "
            "make it a message");
  EXPECT_EQ(sent(spec<int64_t>("nodes.below.size", {Dynamic})),
            "input 'nodes.below.size': 'nodes.below.size' lies in more than "
            "one repeated message");
  EXPECT_EQ(received(spec<int64_t>("action")),
            "output 'action': cbridge.test.Everything has no field of that "
            "name");
  for (const char *Name : {".", "i64.", ".i64", "callee..size"})
    EXPECT_EQ(sentCode(spec<int64_t>(Name)), StatusCode::ShapeMismatch);
}

TEST(FieldBindingTest, TwoThatAreOne) {
  EXPECT_EQ(sentBoth(spec<float>("weights", {Dynamic, 3}),
                     spec<float>("nodes.weights", {Dynamic, 3})),
            "input 'nodes.weights': 'nodes.weights' is input 'weights' "
            "already");
  EXPECT_EQ(sentBoth(spec<int64_t>("left"), spec<int64_t>("right")),
            "input 'right': only one of 'left' and 'right' can be there, and "
            "input 'left' is it");
  EXPECT_EQ(sentBoth(spec<int64_t>("left"), spec<int64_t>("other.within")),
            "input 'other.within': only one of 'left' and 'other' can be "
            "there, and input 'left' is it");
  EXPECT_EQ(sentBoth(spec<int64_t>("left"), spec<int64_t>("maybe")), "");
}

/// Whether fits() says what values do.
TEST(FieldBindingTest, ConversionsThatLoseNothing) {
  struct Range {
    ElementType Type;
    long double Low, High;
    int Digits;
  };
  auto Of = [](auto Tag) {
    using T = decltype(Tag);
    return Range{elementTypeOf<T>(), std::numeric_limits<T>::lowest(),
                 std::numeric_limits<T>::max(), std::numeric_limits<T>::digits};
  };
  const Range All[] = {Of(int8_t()),   Of(int16_t()),  Of(int32_t()),
                       Of(int64_t()),  Of(uint8_t()),  Of(uint16_t()),
                       Of(uint32_t()), Of(uint64_t()), Of(float()),
                       Of(double())};
  for (const Range &From : All)
    for (const Range &To : All) {
      bool FromReal = From.Type >= ElementType::Float;
      bool ToReal = To.Type >= ElementType::Float;
      bool Wanted = From.Low >= To.Low && From.High <= To.High &&
                    From.Digits <= To.Digits && (ToReal || !FromReal);
      EXPECT_EQ(fits(From.Type, To.Type), Wanted)
          << toString(From.Type) << " to " << toString(To.Type);
    }
  EXPECT_FALSE(fits(ElementType::Bool, ElementType::Int32));
  EXPECT_FALSE(fits(ElementType::Int8, ElementType::Bool));
  EXPECT_FALSE(fits(ElementType::String, ElementType::Int64));
  EXPECT_FALSE(fits(ElementType::Int64, ElementType::String));
}

TEST(FieldBindingTest, Types) {
  EXPECT_EQ(sent(spec<int32_t>("i64")), "i64");
  EXPECT_EQ(sent(spec<float>("d")), "d");
  EXPECT_EQ(sent(spec<int64_t>("color")), "color");
  EXPECT_EQ(sent(spec<int16_t>("color")), "color");
  EXPECT_EQ(sent(spec<int64_t>("i32")),
            "input 'i32': int32 'i32' does not hold every int64_t; the field "
            "would need to be int64");
  EXPECT_EQ(sentCode(spec<int64_t>("i32")), StatusCode::TypeMismatch);
  EXPECT_EQ(sent(spec<double>("fs", {Dynamic})),
            "input 'fs': repeated float 'fs' does not hold every double; the "
            "field would need to be repeated double");
  EXPECT_EQ(sent(spec<uint64_t>("color")),
            "input 'color': enum Color 'color' does not hold every uint64_t; "
            "the field would need to be uint64");
  EXPECT_EQ(sent(spec<int64_t>("flag")),
            "input 'flag': bool 'flag' does not hold every int64_t; the field "
            "would need to be int64");
  EXPECT_EQ(sent(spec<std::string>("i64")),
            "input 'i64': sint64 'i64' does not hold every string; the field "
            "would need to be string");
  EXPECT_EQ(sent(spec<float>("raws", {Dynamic})),
            "input 'raws': repeated bytes 'raws' does not hold every float; "
            "the field would need to be repeated float");
  EXPECT_EQ(received(spec<int64_t>("i32")), "i32");
  EXPECT_EQ(received(spec<double>("f")), "f");
  EXPECT_EQ(received(spec<int32_t>("i64")),
            "output 'i64': int32_t does not hold every sint64 'i64'; the "
            "field would need to be int32");
  EXPECT_EQ(received(spec<int8_t>("i32s", {Dynamic})),
            "output 'i32s': int8_t does not hold every repeated int32 'i32s'; "
            "the field would need to be bytes");
  EXPECT_EQ(received(spec<int16_t>("color")),
            "output 'color': int16_t does not hold every enum Color 'color'; "
            "the field would need to be bytes");
}

TEST(FieldBindingTest, Shapes) {
  EXPECT_EQ(sent(spec<int64_t>("i64", {1})), "i64");
  EXPECT_EQ(sent(spec<int64_t>("i64", {1, 1})), "i64");
  EXPECT_EQ(sent(spec<std::string>("text", {1})), "text");
  EXPECT_EQ(sent(spec<float>("fs", {Dynamic, 2, 3})), "fs");
  EXPECT_EQ(sent(spec<float>("fs", {0})), "fs");
  EXPECT_EQ(sent(spec<float>("raw", {Dynamic, 2})), "raw");
  EXPECT_EQ(sent(spec<float>("raw")), "raw");
  EXPECT_EQ(sent(spec<float>("weights", {Dynamic, Dynamic})), "nodes.weights");
  EXPECT_EQ(sent(spec<float>("weights", {4, Dynamic, 2})), "nodes.weights");

  EXPECT_EQ(sent(spec<int64_t>("i64", {2})),
            "input 'i64': sint64 'i64' is one element, int64_t[2] is not");
  EXPECT_EQ(sent(spec<int64_t>("i64", {Dynamic})),
            "input 'i64': sint64 'i64' is one element, int64_t[?] is not");
  EXPECT_EQ(sent(spec<std::string>("text", {Dynamic})),
            "input 'text': string 'text' is one element, string[?] is not");
  EXPECT_EQ(sent(spec<float>("fs")),
            "input 'fs': repeated float 'fs' has any number of elements, "
            "float has one");
  EXPECT_EQ(sent(spec<float>("fs", {Dynamic, Dynamic})),
            "input 'fs': only the leading extent that 'fs' holds may be "
            "dynamic, not all of float[?,?]");
  EXPECT_EQ(sent(spec<float>("fs", {Dynamic, 0})),
            "input 'fs': nothing would tell the leading extent of "
            "float[?,0]");
  EXPECT_EQ(sent(spec<int64_t>("nodes.size")),
            "input 'nodes.size': int64 'nodes.size' has an element for each "
            "of the repeated 'nodes'; int64_t has only one");
  EXPECT_EQ(sent(spec<int64_t>("nodes.size", {Dynamic, 2})),
            "input 'nodes.size': int64 'nodes.size' is one element of each "
            "message, int64_t[?,2] is not");
  EXPECT_EQ(sent(spec<float>("weights", {Dynamic})),
            "input 'weights': repeated float 'nodes.weights' has any number "
            "of elements in each message, float[?] has one");
}

TEST(FieldBindingTest, WhatProto2Requires) {
  auto Why = [](std::vector<TensorSpec> Inputs) {
    auto B = bindTest({std::move(Inputs), adviceOfTest()}, "cbridge.old.Needs",
                      Advised);
    return B ? "" : B.status().message();
  };
  EXPECT_EQ(Why({}), "cbridge.old.Needs requires 'x', for which there is no "
                     "input");
  // The reward is told anyway.
  EXPECT_EQ(Why({spec<int64_t>("x")}), "");
  EXPECT_EQ(Why({spec<int64_t>("x"), spec<int64_t>("part.may")}),
            "cbridge.old.Needs requires 'part.must', for which there is no "
            "input");
  EXPECT_EQ(Why({spec<int64_t>("x"), spec<int64_t>("part.may"),
                 spec<int64_t>("part.must")}),
            "");
}
