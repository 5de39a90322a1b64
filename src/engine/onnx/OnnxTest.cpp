//===- OnnxTest.cpp - Tests of onnx: --------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every engine does is in tests/conformance; here is what only ONNX has:
// files that are broken in its ways, and its options.
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/FolderTest.h"

#include <cbridge/MLModelRunner.h>

#include <unistd.h>

using namespace cbridge;

namespace {

const std::string Golden = CBRIDGE_TESTS_DIR "/golden/onnx/";

Signature affine() {
  return {{TensorSpec::create<float>("x", {4})},
          TensorSpec::create<float>("y", {3})};
}

/// Why a file does not serve; the pass must go on.
std::string refusal(const std::string &File, const Signature &Sig = affine(),
                    const std::string &Options = "") {
  Expected<Model> M = Model::open("onnx:" + File + Options, Sig);
  if (!M)
    return "open fails: " + M.status().toString();
  MLModelRunner R = M->runner();
  EXPECT_EQ(R.evaluateOr<float>([] { return 42.0F; }), 42.0F);
  EXPECT_EQ(M->runner().evaluateOr<float>([] { return 43.0F; }), 43.0F);
  Expected<Model> Strict =
      Model::open("onnx:" + File + (Options.empty() ? "?" : Options + "&") +
                      "on_error=fail",
                  Sig);
  EXPECT_FALSE(Strict);
  return M->whyNot().message();
}

class OnnxTest : public FolderTest {
protected:
  std::string write(const std::string &Content) {
    std::string File = Folder + "/model.onnx";
    std::ofstream(File, std::ios::binary) << Content;
    return File;
  }
};

struct Bad {
  const char *Name, *Culprit;
};

class BadOnnxTest : public testing::TestWithParam<Bad> {};

} // namespace

TEST_P(BadOnnxTest, IsRefusedWithFileAndCulprit) {
  std::string File = Golden + "bad/" + GetParam().Name + ".onnx";
  std::string Why = refusal(File);
  EXPECT_NE(Why.find(File), Why.npos) << Why;
  EXPECT_NE(Why.find(GetParam().Culprit), Why.npos) << Why;
  EXPECT_LT(Why.size(), 700U) << Why;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOnnxTest,
    testing::Values(
        Bad{"empty", "the file is empty"},
        Bad{"random", "no ONNX model, or cut off"},
        Bad{"truncated", "no ONNX model, or cut off"},
        Bad{"claims_3gb_in_a_length", "no ONNX model, or cut off"},
        Bad{"claims_3gb_in_dims",
            "tensor 'w': claims 3221225472 bytes and has 4"},
        Bad{"nan_weight", "tensor 'w': element 6 is not a number"},
        Bad{"nan_floats", "attribute 'value_floats': not a number"},
        Bad{"nan_sparse", "tensor 'w': element 1 is not a number"},
        Bad{"function_bomb", "more than 1000000 nodes"},
        Bad{"output_is_input", "output 'y' is an input, too"},
        Bad{"inf_weight", "tensor 'w': element 6 is infinite"},
        Bad{"broken_metadata", "metadata 'cbridge.signature': JSON, byte"},
        Bad{"wrong_signature",
            "metadata 'cbridge.signature': the signature has no "
            "decision"},
        Bad{"missing_external_data", "not_there.bin"},
        Bad{"opset_99", "Opset 99"}, Bad{"unknown_operator", "NoSuchOperator"},
        Bad{"unknown_domain", "nowhere:Foo"}, Bad{"cycle", "not acyclic"},
        Bad{"sequence_input", "input: 'x' is no tensor"},
        Bad{"float16_input", "input: 'x' is float16"}),
    [](const auto &Info) { return std::string(Info.param.Name); });

TEST_F(OnnxTest, MissingFilesAndFilesThatAreNone) {
  EXPECT_EQ(refusal(Folder + "/nothing.onnx"),
            Folder + "/nothing.onnx: No such file or directory");
  EXPECT_EQ(refusal(Folder), Folder + ": is no regular file");
  EXPECT_EQ(refusal(""),
            "open fails: invalid_argument: runner string, column 6: "
            "expected a file: onnx:FILE.onnx\n  onnx:\n       ^");
}

TEST_F(OnnxTest, AFileOf3GB) {
  std::string File = write("");
  ASSERT_EQ(::truncate(File.c_str(), off_t(3) << 30), 0);
  EXPECT_EQ(refusal(File), File + ": has more than 2047 MiB");
}

TEST_F(OnnxTest, Options) {
  std::string File = Golden + "affine.onnx";
  for (const char *Bad : {"?threads=0", "?threads=x", "?threads=9999",
                          "?custom_ops=", "?custom_ops=a::b", "?nonsense=1"})
    EXPECT_EQ(refusal(File, affine(), Bad).find("open fails"), 0U) << Bad;
  EXPECT_EQ(refusal(File, affine(), "?custom_ops=" + Folder + "/no.so"),
            File + ": custom operators in " + Folder +
                "/no.so: there is no such file");
  Expected<Model> M = Model::open("onnx:" + File + "?threads=2", affine());
  ASSERT_TRUE(M && M->whyNot().ok());
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"x", std::vector<float>{1, 2, 3, 4}});
  EXPECT_TRUE(R.evaluate<std::vector<float>>());
}

TEST_F(OnnxTest, AModelTellsItsSignature) {
  Expected<Signature> Sig = Model::describe("onnx:" + Golden + "affine.onnx");
  ASSERT_TRUE(Sig) << Sig.status().toString();
  EXPECT_EQ(*Sig, affine());
  EXPECT_FALSE(Model::describe("onnx:" + Golden + "affine.onnx?nonsense=1"));
  EXPECT_FALSE(Model::describe("onnx:" + Golden + "bad/empty.onnx"));
  EXPECT_EQ(Model::describe("constant:4").status().code(),
            StatusCode::Unsupported);
}

// However a file is damaged, it is refused, or it is a model.
TEST_F(OnnxTest, EveryPrefix) {
  std::string Whole = content(Golden + "affine.onnx");
  ASSERT_GT(Whole.size(), 100U);
  for (size_t Size = 0; Size < Whole.size(); ++Size) {
    std::string File = write(Whole.substr(0, Size));
    Expected<Model> M = Model::open("onnx:" + File, affine());
    ASSERT_TRUE(M);
    // The last fields of a message may be missing.
    const std::string Why = M->whyNot().message();
    EXPECT_TRUE(Why.empty() || Why.find(File) != Why.npos) << Why;
  }
}

TEST_F(OnnxTest, EveryFlippedBit) {
  std::string Whole = content(Golden + "affine.onnx");
  size_t Served = 0, Refused = 0;
  for (size_t I = 0; I < Whole.size(); ++I)
    for (unsigned Bit : {0U, 3U, 7U}) {
      std::string Damaged = Whole;
      Damaged[I] = char(Damaged[I] ^ (1U << Bit));
      std::string File = write(Damaged);
      Expected<Model> M = Model::open("onnx:" + File, affine());
      ASSERT_TRUE(M);
      MLModelRunner R = M->runner();
      R.populateFeatures(std::pair{"x", std::vector<float>{1, 2, 3, 4}});
      (R.evaluate<std::vector<float>>() ? Served : Refused) += 1;
      const std::string Why = M->whyNot().message();
      EXPECT_TRUE(Why.empty() || Why.find(File) != Why.npos) << Why;
    }
  EXPECT_GT(Served, 0U); // names, weights
  EXPECT_GT(Refused, 100U);
}
