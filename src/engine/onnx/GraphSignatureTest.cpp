//===- GraphSignatureTest.cpp - Tests of GraphSignature -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/GraphSignature.h"

#include "core/Wire.h"
#include "engine/onnx/FolderTest.h"

#include <cbridge/Model.h>

#include <filesystem>

using namespace cbridge;

namespace {

std::string number(unsigned Field, uint64_t Value) {
  std::string To(1 + wire::MaxVarint, '\0');
  wire::Writer W(reinterpret_cast<unsigned char *>(To.data()));
  W.varintField(Field, Value);
  To.resize(size_t(reinterpret_cast<char *>(W.at()) - To.data()));
  return To;
}

std::string part(unsigned Field, const std::string &Content) {
  std::string To(1 + wire::MaxVarint, '\0');
  wire::Writer W(reinterpret_cast<unsigned char *>(To.data()));
  W.beginBytes(Field, Content.size());
  To.resize(size_t(reinterpret_cast<char *>(W.at()) - To.data()));
  return To + Content;
}

std::string extent(uint64_t Of) { return part(1, number(1, Of)); }

constexpr uint64_t Float = 1, Half = 10;

/// A ValueInfoProto of a tensor whose shape has these fields.
std::string tensor(const std::string &Name, uint64_t Type,
                   const std::string &Extents) {
  return part(1, Name) + part(2, part(1, number(1, Type) + part(2, Extents)));
}

std::string input(const std::string &Value) { return part(11, Value); }
std::string output(const std::string &Value) { return part(12, Value); }

const std::string X = input(tensor("x", Float, extent(4)));
const std::string Y = output(tensor("y", Float, extent(4)));

/// A model that adds x to w, with these fields of a graph.
std::string model(const std::string &Fields) {
  std::string Add = part(1, "x") + part(1, "w") + part(2, "y") + part(4, "Add");
  return number(1, 8) + part(7, part(1, Add) + part(2, "graph") + Fields) +
         part(8, number(2, 17));
}

const std::string Weight =
    part(5, number(1, 4) + number(2, Float) + part(8, "w") +
                part(9, std::string(16, '\1')));

std::optional<Signature> signatureOf(const std::string &Content) {
  return onnx::graphSignature(
      {reinterpret_cast<const unsigned char *>(Content.data()),
       Content.size()});
}

class GraphSignatureTest : public FolderTest {
protected:
  /// What a session tells: a second graph, of nothing, is not plain, and the
  /// metadata is another.
  Expected<Signature> bySession(std::string Content) {
    const std::string Key = "cbridge.signature";
    if (size_t At = Content.find(Key); At != Content.npos)
      Content[At] = 'C';
    std::string File = Folder + "/model.onnx";
    std::ofstream(File, std::ios::binary) << Content << part(7, "");
    EXPECT_FALSE(signatureOf(content(File)));
    return Model::describe("onnx:" + File);
  }
};

} // namespace

TEST_F(GraphSignatureTest, IsWhatASessionTells) {
  size_t Plain = 0, Others = 0, Refused = 0;
  for (const auto &Each : std::filesystem::recursive_directory_iterator(
           CBRIDGE_TESTS_DIR "/golden/onnx")) {
    if (Each.path().extension() != ".onnx")
      continue;
    std::string Content = content(Each.path());
    std::optional<Signature> Ours = signatureOf(Content);
    (Ours ? Plain : Others) += 1;
    Expected<Signature> Theirs = bySession(Content);
    bool Bad = Each.path().parent_path().filename() == "bad";
    EXPECT_TRUE(Theirs || Bad) << Each.path() << Theirs.status().toString();
    Refused += !Theirs;
    if (Ours && Theirs) {
      EXPECT_EQ(*Ours, *Theirs) << Each.path();
    }
  }
  EXPECT_GT(Plain, 20U);
  EXPECT_GT(Others, 5U);
  EXPECT_GT(Refused, 5U);
}

TEST_F(GraphSignatureTest, WeightsAreNoInputs) {
  // As all files had them once, and in any order.
  const std::string W = input(tensor("w", Float, extent(4)));
  const std::string Orders[] = {Weight + X + Y, Weight + X + W + Y,
                                Y + W + X + Weight};
  for (const std::string &Fields : Orders) {
    std::optional<Signature> Ours = signatureOf(model(Fields));
    ASSERT_TRUE(Ours);
    EXPECT_EQ(*Ours, Signature({TensorSpec::create<float>("x", {4})},
                               TensorSpec::create<float>("y", {4})));
    Expected<Signature> Theirs = bySession(model(Fields));
    ASSERT_TRUE(Theirs) << Theirs.status().toString();
    EXPECT_EQ(*Ours, *Theirs);
  }
}

TEST_F(GraphSignatureTest, WhatIsNotPlain) {
  auto IsPlain = [](const std::string &Fields) {
    return signatureOf(model(Weight + Fields)).has_value();
  };
  auto OfX = [&](const std::string &Value) {
    return IsPlain(input(Value) + Y);
  };
  EXPECT_TRUE(IsPlain(X + Y));
  EXPECT_TRUE(OfX(tensor("x", Float, "")));
  EXPECT_FALSE(IsPlain(X));
  EXPECT_FALSE(IsPlain(X + X + Y));
  EXPECT_FALSE(IsPlain(X + Y + Y));
  EXPECT_FALSE(IsPlain(X + Y + part(15, "")));
  EXPECT_FALSE(OfX(tensor("", Float, extent(4))));
  EXPECT_FALSE(OfX(tensor(std::string("x\0y", 3), Float, extent(4))));
  EXPECT_FALSE(OfX(tensor("x", Half, extent(4))));
  EXPECT_FALSE(OfX(tensor("x", 99, extent(4))));
  EXPECT_FALSE(OfX(tensor("x", Float, extent(0))));
  EXPECT_FALSE(OfX(tensor("x", Float, extent(~uint64_t(0)))));
  EXPECT_FALSE(OfX(tensor("x", Float, extent(4) + part(1, ""))));
  EXPECT_FALSE(OfX(tensor("x", Float, part(1, part(2, "rows")))));
  EXPECT_FALSE(OfX(tensor("x", Float, part(1, number(1, 4) + number(1, 5)))));
  // Without a shape, or a type; of a sequence; with two names.
  EXPECT_FALSE(OfX(part(1, "x") + part(2, part(1, number(1, Float)))));
  EXPECT_FALSE(OfX(part(1, "x")));
  EXPECT_FALSE(OfX(part(1, "x") + part(2, part(4, ""))));
  EXPECT_FALSE(OfX(part(1, "a") + tensor("x", Float, extent(4))));
  EXPECT_FALSE(signatureOf(""));
  EXPECT_FALSE(signatureOf(model(Weight + X + Y).substr(0, 40)));
}

TEST_F(GraphSignatureTest, Limits) {
  std::string Extents, Inputs;
  for (int I = 0; I < 8; ++I)
    Extents += extent(2);
  EXPECT_TRUE(signatureOf(model(input(tensor("x", Float, Extents)) + Y)));
  EXPECT_FALSE(
      signatureOf(model(input(tensor("x", Float, Extents + extent(2))) + Y)));
  // More elements than can be counted.
  Extents = extent(uint64_t(1) << 40) + extent(uint64_t(1) << 40);
  EXPECT_FALSE(signatureOf(model(input(tensor("x", Float, Extents)) + Y)));
  for (int I = 0; I < 4096; ++I)
    Inputs += input(tensor("x" + std::to_string(I), Float, ""));
  std::optional<Signature> Many = signatureOf(model(Inputs + Y));
  ASSERT_TRUE(Many);
  EXPECT_EQ(Many->inputs().size(), 4096U);
  EXPECT_FALSE(signatureOf(model(Inputs + X + Y)));
}

// A model that ONNX Runtime refuses may be described; opening it tells why.
TEST_F(GraphSignatureTest, OpenTellsWhatIsWrong) {
  std::string File = CBRIDGE_TESTS_DIR "/golden/onnx/bad/unknown_operator.onnx";
  Expected<Signature> Sig = Model::describe("onnx:" + File);
  ASSERT_TRUE(Sig) << Sig.status().toString();
  Expected<Model> M = Model::open("onnx:" + File, *Sig);
  ASSERT_TRUE(M);
  EXPECT_NE(M->whyNot().message().find("NoSuchOperator"), std::string::npos)
      << M->whyNot().toString();
  EXPECT_FALSE(Model::open("onnx:" + File + "?on_error=fail", *Sig));
}
