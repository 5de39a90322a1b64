//===- NativeTest.cpp - Tests of native: ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/native/NativeTest.h"
#include "log/LogTest.h"

#include <cbridge/MLModelRunner.h>

#include <cstring>
#include <thread>

using namespace cbridge;

// What cbridge_add_model would generate.
extern "C" const cbridge_native_model *const *cbridge_linked_models(void);
extern "C" const cbridge_native_model *const *cbridge_linked_models(void) {
  static constexpr const cbridge_native_model *Models[] = {
      &cbridge_model_cbridge_models_Affine, &cbridge_model_cbridge_models_Rows,
      nullptr};
  return Models;
}

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

std::string file(const std::string &Name) {
  return CBRIDGE_NATIVE_MODELS + Name + ".so";
}

Signature affinePass() {
  return {{TensorSpec::create<float>("x", {4})},
          TensorSpec::create<float>("y", {4})};
}
Signature failingPass() {
  return {{TensorSpec::create<float>("x", {4}),
           TensorSpec::create<bool>("fail", {})},
          std::vector{TensorSpec::create<float>("y", {1, 4}),
                      TensorSpec::create<int32_t>("level", {1})}};
}
Signature rowsPass() {
  return {{TensorSpec::create<int64_t>("factor", {Dynamic}),
           TensorSpec::create<float>("rows", {Dynamic, 3})},
          std::vector{TensorSpec::create<float>("twice", {Dynamic, 3}),
                      TensorSpec::create<float>("sum", {3})}};
}

Model open(const std::string &Runner, Signature Pass) {
  Expected<Model> M = Model::open(Runner, std::move(Pass));
  EXPECT_TRUE(M) << M.status().toString();
  EXPECT_TRUE(M->whyNot().ok()) << M->whyNot().toString();
  return *M;
}

/// Why a model abstains, or its string is wrong.
Status whyNot(const std::string &Runner, Signature Pass) {
  Expected<Model> M = Model::open(Runner, std::move(Pass));
  return M ? M->whyNot() : M.status();
}

Floats ask(MLModelRunner &R, const Floats &X) {
  R.populateFeatures(std::pair{"x", X}, std::pair{"fail", false});
  auto Y = R.evaluate<Floats>();
  EXPECT_TRUE(Y) << Y.status().toString();
  return Y.valueOr(Floats());
}

Expected<Decision> askRows(MLModelRunner &R, size_t Count, size_t Factors) {
  R.populateFeatures(std::pair{"rows", Floats(Count * 3, 0.5f)},
                     std::pair{"factor", Ints(Factors, 3)});
  return R.evaluate();
}

/// A file of weights for Affine, as cbridge compile writes it.
struct WeightsFile {
  std::string Magic = "CBWEIGHT";
  uint32_t Version = 1;
  uint32_t Reserved = 0;
  uint64_t Size = 8;
  unsigned char LastOfFingerprint = 0xff;
  bool Sum = true;
  std::string Payload = std::string(8, '\0');

  explicit WeightsFile(float Factor, float Bias) {
    float Both[2] = {Factor, Bias};
    std::memcpy(Payload.data(), Both, sizeof(Both));
  }
  std::string content() const {
    std::string Text = Magic;
    auto Add = [&](uint64_t Number, size_t Bytes) {
      for (size_t I = 0; I < Bytes; ++I)
        Text += char(Number >> (8 * I));
    };
    Add(Version, 4);
    Add(Reserved, 4);
    Add(Size, 8);
    for (int I = 0; I < 31; ++I)
      Text += char(I);
    Text += char(LastOfFingerprint);
    uint64_t Word = 0;
    std::memcpy(&Word, Payload.data(), sizeof(Word));
    Add(Sum ? (0xcbf29ce484222325u ^ Word) * 0x100000001b3u : 0, 8);
    return Text + Payload;
  }
  void write(const std::string &To) const {
    std::ofstream(To, std::ios::binary) << content();
  }
};

TEST(NativeTest, LinkedIn) {
  Model M = open("native:Affine", failingPass());
  MLModelRunner R = M.runner();
  EXPECT_EQ(ask(R, {1, 2, 3, -4}), (Floats{3, 5, 7, -7}));
  EXPECT_EQ(ask(R, {0, 0, 0, 0}), (Floats{1, 1, 1, 1}));
  float *Place = R.getTensor<float>(0).data();
  Place[3] = 10;
  EXPECT_EQ((*R.evaluate<Floats>())[3], 21);
  EXPECT_EQ(R.getTensor<float>(0).data(), Place);
}

TEST(NativeTest, AModelFails) {
  Model M = open("native:Affine", failingPass());
  MLModelRunner R = M.runner();
  for (int Round = 0; Round < 2; ++Round) {
    R.populateFeatures(std::pair{"fail", true});
    Status S = R.evaluate().status();
    EXPECT_EQ(S.code(), StatusCode::ModelError);
    EXPECT_SAYS(S, "native:Affine: node 'gather_3' (Gather)");
    EXPECT_TRUE(M.whyNot().ok());
    EXPECT_EQ(ask(R, {1, 1, 1, 1}), Floats(4, 3));
  }
}

TEST(NativeTest, AFeatureThatThePassLacks) {
  EXPECT_SAYS(whyNot("native:Affine", affinePass()),
              "native:Affine: input 'fail': the model wants bool");
}

TEST(NativeTest, FeaturesThatTheModelDoesNotKnow) {
  Signature Pass({TensorSpec::create<std::string>("name", {Dynamic}),
                  TensorSpec::create<int64_t>("many", {Dynamic}),
                  failingPass().inputs()[1],
                  TensorSpec::create<double>("fixed", {3}),
                  failingPass().inputs()[0]},
                 failingPass().outputs());
  MLModelRunner R = open("native:Affine", Pass).runner();
  for (size_t Count : {3, 0, 1000}) {
    R.populateFeatures(std::pair{"name", std::vector<std::string>(Count, "n")},
                       std::pair{"many", Ints(Count, 5)},
                       std::pair{"fixed", std::vector<double>{1, 2, 3}});
    EXPECT_EQ(ask(R, {1, 2, 3, 4}), (Floats{3, 5, 7, 9}));
    EXPECT_EQ(R.getTensor<int64_t>("many").size(), Count);
    EXPECT_EQ(R.getTensor<double>("fixed")[2], 3);
  }
}

TEST(NativeTest, Describes) {
  for (const std::string &Runner :
       {std::string("native:Rows"), "native:" + file("rows")}) {
    Expected<Signature> Own = Model::describe(Runner);
    ASSERT_TRUE(Own) << Own.status().toString();
    EXPECT_EQ(Own->inputs()[0].typeAndShape(), "float[?,3]");
    EXPECT_EQ(Own->inputs()[1].typeAndShape(), "int64_t[?]");
    EXPECT_EQ(Own->outputs()[0].typeAndShape(), "float[3]");
    EXPECT_EQ(Own->outputs()[1].typeAndShape(), "float[?,3]");
    MLModelRunner R = open(Runner, *Own).runner();
    EXPECT_TRUE(askRows(R, 2, 2));
  }
}

TEST(NativeTest, SizesThatVary) {
  Model M = open("native:" + file("rows"), rowsPass());
  MLModelRunner R = M.runner();
  for (size_t Count : {1, 128, 0, 7}) {
    Expected<Decision> D = askRows(R, Count, Count);
    ASSERT_TRUE(D) << D.status().toString();
    EXPECT_EQ(*D->get<Floats>("sum"), Floats(3, float(Count) * 1.5f));
    EXPECT_EQ(*D->get<Floats>("twice"), Floats(Count * 6, 0.5f));
    EXPECT_EQ(D->tensor(0).Extents[0], int64_t(2 * Count));
  }
}

TEST(NativeTest, MoreThanTheMaximum) {
  Model M = open("native:Rows", rowsPass());
  MLModelRunner R = M.runner();
  for (int Round = 0; Round < 2; ++Round) {
    Status S = askRows(R, 200, 200).status();
    EXPECT_EQ(S.code(), StatusCode::ShapeMismatch);
    EXPECT_SAYS(S, "input 'factor': 200, but the model was compiled for at "
                   "most 128 (cbridge compile --max N=200)");
    // Whoever fills it in place all the same harms nobody.
    R.resize("rows", {100'000, 3});
    Span<float> Rows = R.getTensor<float>("rows");
    ASSERT_EQ(Rows.size(), 300'000u);
    Rows[299'999] = 1;
    EXPECT_FALSE(R.evaluate());
    EXPECT_TRUE(M.whyNot().ok());
    EXPECT_TRUE(askRows(R, 128, 128));
  }
  // Of extents that are the pass's own, the model says so at once.
  Signature Fixed({TensorSpec::create<float>("rows", {129, 3}),
                   TensorSpec::create<int64_t>("factor", {129})},
                  TensorSpec::create<float>("sum", {3}));
  EXPECT_SAYS(whyNot("native:Rows", Fixed), "input 'rows': 129, but");
}

TEST(NativeTest, InputsThatDisagree) {
  Model M = open("native:Rows", rowsPass());
  MLModelRunner R = M.runner();
  for (size_t Count : {1, 0, 100}) {
    Status S = askRows(R, Count, Count + 2).status();
    EXPECT_EQ(S.code(), StatusCode::ShapeMismatch);
    EXPECT_SAYS(S, "input 'factor': N is " + std::to_string(Count + 2) +
                       " here and " + std::to_string(Count) +
                       " in an input before it");
    EXPECT_TRUE(askRows(R, Count, Count));
  }
}

TEST(NativeTest, Levels) {
  MLModelRunner R =
      open("native:Affine?level=baseline", failingPass()).runner();
  ask(R, {1, 1, 1, 1});
  EXPECT_EQ(*R.evaluate()->get<int32_t>("level"), 0);
  Status S = whyNot("native:Affine?level=v3", failingPass());
  EXPECT_EQ(S.code(), StatusCode::Unsupported);
  EXPECT_SAYS(S, "native:Affine: this processor is not of level v3; the best "
                 "that it has is baseline");
  S = whyNot("native:Affine?level=v9", failingPass());
  EXPECT_EQ(S.code(), StatusCode::InvalidArgument);
  EXPECT_SAYS(S, "expected one of: baseline, v3");
  open("native:Rows?level=v3", rowsPass());
}

TEST(NativeTest, NamesThatAreNotThere) {
  Status S = whyNot("native:Mlp", affinePass());
  EXPECT_EQ(S.code(), StatusCode::Unsupported);
  EXPECT_SAYS(S, "there is no model 'Mlp' in this program, which has 'Affine', "
                 "'Rows'");
  EXPECT_SAYS(S, "native:FILE.so");
  EXPECT_EQ(S.message().find("cbridge_linked_models"), std::string::npos);
  EXPECT_EQ(whyNot("native:", affinePass()).code(),
            StatusCode::InvalidArgument);
  EXPECT_EQ(whyNot("native:Affine?wheights=x", affinePass()).code(),
            StatusCode::InvalidArgument);
  for (const char *Name : {"nowhere.so", "no/where"})
    EXPECT_SAYS(whyNot("native:" + std::string(Name), affinePass()),
                "module " + std::string(Name));
  EXPECT_SAYS(whyNot("native:no/where.onnx", affinePass()),
              "no/where.onnx is an ONNX model: compile it (cbridge compile), "
              "or use onnx:no/where.onnx");
  EXPECT_SAYS(whyNot("native:mlp.onnx", affinePass()), "or use onnx:mlp.onnx");
  EXPECT_SAYS(whyNot("native:" CBRIDGE_NO_NATIVE_MODEL, affinePass()),
              "has no compiled model");
  EXPECT_SAYS(whyNot("native:" + file("two"), affinePass()),
              "several models where native: wants one: 'Affine', 'Rows'");
}

TEST(NativeTest, WeightsOfItsOwnAndOthers) {
  TemporaryFolder Folder;
  std::string File = Folder / "w";
  WeightsFile(10, 5).write(File);
  EXPECT_EQ(contentOf(File),
            contentOf(std::string(CBRIDGE_TESTS_DIR) + "/golden/weights.bin"));
  MLModelRunner Own = open("native:Affine", failingPass()).runner();
  MLModelRunner R =
      open("native:Affine?weights=" + File, failingPass()).runner();
  std::filesystem::remove(File); // it has been read
  EXPECT_EQ(ask(R, {0, 1, 2, 3}), (Floats{5, 15, 25, 35}));
  EXPECT_EQ(ask(Own, {0, 1, 2, 3}), (Floats{1, 3, 5, 7}));
}

TEST(NativeTest, WeightsApart) {
  TemporaryFolder Folder;
  std::string File = Folder / "w", Runner = "native:" + file("affine-apart");
  WeightsFile Content(3, 0);
  Content.Sum = false;
  Content.write(File);
  Status S = whyNot(Runner, failingPass());
  EXPECT_EQ(S.code(), StatusCode::Unsupported);
  EXPECT_SAYS(S, "compiled with --weights=file; name theirs: weights=FILE");
  Model M = open(Runner + "?weights=" + File, failingPass());
  std::vector<std::thread> Threads;
  for (int T = 0; T < 4; ++T)
    Threads.emplace_back([&M] {
      MLModelRunner R = M.runner();
      for (float I = 0; I < 100; ++I)
        ASSERT_EQ(ask(R, Floats(4, I)), Floats(4, 3 * I));
    });
  for (std::thread &T : Threads)
    T.join();
}

TEST(NativeTest, WeightsThatDoNotFit) {
  TemporaryFolder Folder;
  std::string File = Folder / "w";
  auto Expect = [&](const std::string &Content, const std::string &Says) {
    std::ofstream(File, std::ios::binary) << Content;
    Status S = whyNot("native:Affine?weights=" + File, failingPass());
    EXPECT_EQ(S.code(), StatusCode::Unsupported);
    EXPECT_SAYS(S, "native:Affine: weights in " + File + ": " + Says);
  };
  const WeightsFile Good(1, 2);
  WeightsFile Bad = Good;
  Bad.Magic[7] = 'S';
  Expect(Bad.content(), "is no file of weights");
  Expect("", "is no file of weights");
  Bad = Good;
  Bad.Version = 7;
  Expect(Bad.content(), "has format version 7, this program reads 1");
  Bad = Good;
  Bad.Reserved = 1u << 24;
  Expect(Bad.content(),
         "has format version 1, but its reserved bytes are not 0");
  Bad = Good;
  Bad.LastOfFingerprint = 1;
  Expect(Bad.content(), "made for another architecture");
  Bad = Good;
  Bad.Size = 12;
  Expect(Bad.content(), "has 12 bytes of weights, the model 8");
  Expect(Good.content() + "x", "is cut off or too long");
  Expect(Good.content().substr(0, 70), "is cut off or too long");
  std::string Damaged = Good.content();
  Damaged[65] ^= 1;
  Expect(Damaged, "is damaged");
  std::filesystem::remove(File);
  EXPECT_SAYS(whyNot("native:Affine?weights=" + File, failingPass()),
              "native:Affine: weights: " + File);
}

} // namespace
