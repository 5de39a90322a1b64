//===- SignatureTest.cpp - Tests of signatures and their JSON -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Signature.h>

#include "core/SignatureJson.h"

#include <gtest/gtest.h>

#include <set>

using namespace cbridge;

static Signature inlining() {
  return {{TensorSpec::create<int64_t>("callee_users"),
           TensorSpec::create<float>("embedding", {Dynamic, 300})},
          TensorSpec::create<bool>("inline")};
}

TEST(SignatureTest, FindsTensorsByName) {
  Signature Sig = inlining();
  EXPECT_EQ(Sig.inputIndex("callee_users"), 0u);
  EXPECT_EQ(Sig.inputIndex("embedding"), 1u);
  EXPECT_EQ(Sig.inputIndex("inline"), std::nullopt);
  EXPECT_EQ(Sig.outputIndex("inline"), 0u);
  EXPECT_EQ(Sig.outputIndex("embedding"), std::nullopt);
}

TEST(SignatureTest, ValidatesBothSides) {
  TensorSpec X = TensorSpec::create<float>("x");
  TensorSpec Bad = TensorSpec::create<float>("bad", {-5});
  EXPECT_TRUE(inlining().validate().ok());
  EXPECT_TRUE(Signature({}, X).validate().ok());
  // The two sides are name spaces of their own.
  EXPECT_TRUE(Signature({X}, X).validate().ok());

  EXPECT_EQ(Signature().validate().toString(),
            "invalid_argument: the signature has no decision");
  EXPECT_EQ(Signature({X, X}, X).validate().toString(),
            "invalid_argument: features: two tensors are named 'x'");
  EXPECT_EQ(Signature({}, std::vector{X, X}).validate().toString(),
            "invalid_argument: decision: two tensors are named 'x'");
  EXPECT_EQ(Signature({Bad}, X).validate().toString(),
            "shape_mismatch: features: 'bad': extent -5 is neither -1 nor at "
            "least 0");
  EXPECT_EQ(Signature({X}, Bad).validate().code(), StatusCode::ShapeMismatch);
}

TEST(SignatureTest, FingerprintTellsLayoutsApart) {
  TensorSpec A = TensorSpec::create<float>("a", {2, 3});
  TensorSpec B = TensorSpec::create<float>("b", {2, 3});
  const Signature All[] = {
      {{A, B}, A},
      {{B, A}, A},
      {{A}, std::vector{B, A}},
      {{A, B}, B},
      {{A}, A},
      {{TensorSpec::create<float>("a", {3, 2}), B}, A},
      {{TensorSpec::create<float>("a", {2, 3, 1}), B}, A},
      {{TensorSpec::create<int32_t>("a", {2, 3}), B}, A},
      {{TensorSpec::create<float>("ab", {2, 3})}, A},
  };
  std::set<uint64_t> Prints;
  for (const Signature &Sig : All)
    Prints.insert(Sig.fingerprint());
  EXPECT_EQ(Prints.size(), std::size(All));
  EXPECT_EQ(inlining().fingerprint(), inlining().fingerprint());
}

TEST(SignatureTest, FingerprintIsTheSameInEveryVersion) {
  EXPECT_EQ(inlining().fingerprint(), 0x55c4d7e78e2493d2ULL);
}

static std::string specsText(const std::vector<TensorSpec> &Specs) {
  std::string Text;
  appendSpecs(Text, Specs);
  return Text;
}

TEST(SignatureJsonTest, SpecsSurviveTheTrip) {
  std::vector<TensorSpec> Specs = inlining().inputs();
  Specs.push_back(TensorSpec::create<std::string>("a \"name\"\n\x01\xc3\xa9"));
  Specs.push_back(TensorSpec::create<double>("scalar", {}));
  std::string Text = specsText(Specs);
  JsonReader Reader(Text);
  std::vector<TensorSpec> Read;
  EXPECT_TRUE(readSpecs(Reader, Read) && Reader.atEnd())
      << Reader.status().toString();
  EXPECT_EQ(Read, Specs);
  EXPECT_EQ(specsText({Specs[1]}),
            R"([{"name":"embedding","type":"float","shape":[-1,300]}])");
}

TEST(SignatureJsonTest, UnknownMembersAreSkipped) {
  JsonReader Reader(
      R"([{"unit":{"s":[1]},"name":"x","shape":[],"type":"bool"}])");
  std::vector<TensorSpec> Read;
  ASSERT_TRUE(readSpecs(Reader, Read)) << Reader.status().toString();
  EXPECT_EQ(Read, std::vector{TensorSpec::create<bool>("x", {})});
}

TEST(SignatureJsonTest, BadSpecsAreRefused) {
  for (const char *Text :
       {"", "{}", "[", "[{}]", R"([{"name":"x","type":"int"}])",
        R"([{"name":"x","shape":[-2]}])", R"([{"name":"x","shape":[1.5]}])",
        R"([{"name":"x","shape":[1,1,1,1,1,1,1,1,1]}])",
        R"([{"name":"x","shape":[1,1,1,1,1,1,1,1,1,1,1,1]}])",
        R"([{"name":"x","shape":[9223372036854775807]}])", R"([{"name":7}])"}) {
    JsonReader Reader(Text);
    std::vector<TensorSpec> Read;
    EXPECT_FALSE(readSpecs(Reader, Read)) << Text;
    EXPECT_EQ(Reader.status().code(), StatusCode::Protocol) << Text;
  }
}
