//===- TfliteTest.cpp - Tests of tflite: ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "log/LogTest.h"

#include <cbridge/MLModelRunner.h>

#include <cmath>
#include <random>
#include <thread>

#include <unistd.h>

using namespace cbridge;

namespace {

// The sanitizers slow down what they have not compiled, too.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int Evaluations = 1000;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr int Evaluations = 1000;
#else
constexpr int Evaluations = 10000;
#endif
#else
constexpr int Evaluations = 10000;
#endif

std::string golden(const std::string &Name) {
  return std::string(CBRIDGE_TESTS_DIR) + "/golden/tflite/" + Name;
}

Signature inlineSignature() {
  return {{TensorSpec::create<int64_t>("callee_users"),
           TensorSpec::create<int64_t>("not_of_the_model"),
           TensorSpec::create<int64_t>("caller_users"),
           TensorSpec::create<int64_t>("inlining_default")},
          TensorSpec::create<int64_t>("inlining_decision")};
}

Signature rowsSignature() {
  return {{TensorSpec::create<float>("x", {Dynamic, 3})},
          {TensorSpec::create<float>("sums", {Dynamic}),
           TensorSpec::create<float>("product", {Dynamic, 2})}};
}

/// Why a model cannot be opened; empty if it can.
Status whyNot(const std::string &Folder, Signature Sig = inlineSignature()) {
  Expected<Model> M = Model::open("tflite:" + Folder, std::move(Sig));
  EXPECT_TRUE(M) << M.status().toString();
  return M ? M->whyNot() : M.status();
}

#define EXPECT_SAYS(Status, Text)                                              \
  EXPECT_NE((Status).message().find(Text), std::string::npos)                  \
      << (Status).toString()

/// A copy of a model, to be spoilt.
class Tflite : public testing::Test {
protected:
  void SetUp() override {
    const char *Library = std::getenv("CBRIDGE_TFLITE");
    if (!Library)
      GTEST_FAIL() << "CBRIDGE_TFLITE does not name TFLite's library";
    Kept = Library;
  }
  void TearDown() override {
    if (!Kept.empty())
      ::setenv("CBRIDGE_TFLITE", Kept.c_str(), 1);
  }
  std::string copyOf(const std::string &Name) {
    std::filesystem::copy(golden(Name), Folder / Name);
    return Folder / Name;
  }
  static void write(const std::string &File, const std::string &Content) {
    std::ofstream(File, std::ios::binary) << Content;
  }
  TemporaryFolder Folder;
  std::string Kept;
};

TEST_F(Tflite, DecidesAsTheModelDoes) {
  Expected<Model> M =
      Model::open("tflite:" + golden("inline"), inlineSignature());
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  auto *Callee = R.getTensor<int64_t>(0).data();
  auto *Caller = R.getTensor<int64_t>(2).data();
  for (int64_t A = 0; A < 20; ++A)
    for (int64_t B = 0; B < 20; ++B) {
      *Callee = A;
      *Caller = B;
      Expected<int64_t> D = R.evaluate<int64_t>();
      ASSERT_TRUE(D) << D.status().toString();
      EXPECT_EQ(*D, 2 * A > B + 3) << A << ", " << B;
      // What was lent stays where it is, and as it is.
      EXPECT_EQ(R.getTensor<int64_t>(0).data(), Callee);
      EXPECT_EQ(*Callee, A);
      EXPECT_EQ(*Caller, B);
    }
}

TEST_F(Tflite, AnyNumberOfRowsAndOutputs) {
  Expected<Model> M = Model::open("tflite:" + golden("rows"), rowsSignature());
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  for (int64_t Rows : {1, 5, 200, 2, 1}) {
    R.resize(0, {Rows, 3});
    Span<float> X = R.getTensor<float>(0);
    for (size_t I = 0; I < X.size(); ++I)
      X[I] = float(I % 7) - 3;
    std::vector<float> Before(X.begin(), X.end());
    Expected<Decision> D = R.evaluate();
    ASSERT_TRUE(D) << Rows << ": " << D.status().toString();
    std::vector<float> Sums, Product;
    for (size_t I = 0; I < X.size(); I += 3) {
      Sums.push_back(X[I] + X[I + 1] + X[I + 2]);
      float A = X[I] + X[I + 1] / 2 + X[I + 2] / 4;
      float B = -X[I] + X[I + 1] * 2 + X[I + 2] * 4;
      Product.insert(Product.end(), {std::max(A, 0.F), std::max(B, 0.F)});
    }
    EXPECT_EQ(*D->get<std::vector<float>>("sums"), Sums);
    EXPECT_EQ(*D->get<std::vector<float>>("product"), Product);
    EXPECT_EQ(D->tensor(1).Extents[0], Rows);
    EXPECT_TRUE(std::equal(X.begin(), X.end(), Before.begin()));
  }
  // None at all: whatever TFLite makes of it, the next question is answered.
  R.resize(0, {0, 3});
  if (Expected<Decision> None = R.evaluate()) {
    EXPECT_EQ(None->tensor(0).elementCount(), 0U);
  }
  R.populateFeatures(
      std::pair{"x", std::vector<std::vector<float>>{{1, 2, 3}}});
  Expected<Decision> D = R.evaluate();
  ASSERT_TRUE(D) << D.status().toString();
  EXPECT_EQ(*D->get<std::vector<float>>("sums"), std::vector<float>{6});
}

TEST_F(Tflite, LeadingOnesMayDiffer) {
  // The model has x[?,3].
  Expected<Model> M =
      Model::open("tflite:" + golden("rows"),
                  Signature({TensorSpec::create<float>("x", {3})},
                            {TensorSpec::create<float>("sums", {})}));
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"x", std::vector<float>{1, 2, 4}});
  EXPECT_EQ(*R.evaluate<float>(), 7);

  // A pass whose rows vary, and a decision of one.
  M = Model::open(
      "tflite:" + golden("rows"),
      Signature({TensorSpec::create<float>("x", {Dynamic, Dynamic})},
                {TensorSpec::create<float>("sums", {1})}));
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner Second = M->runner();
  Second.resize(0, {2, 3});
  Expected<float> D = Second.evaluate<float>();
  ASSERT_FALSE(D);
  EXPECT_EQ(D.status().code(), StatusCode::ShapeMismatch);
  EXPECT_SAYS(D.status(), "'sums': the model gives float[2], the pass wants "
                          "float[1]");
  Second.resize(0, {1, 4});
  EXPECT_SAYS(Second.evaluate<float>().status(),
              "'x': the model wants float[?,3], the pass gives float[1,4]");
  Second.resize(0, {1, 3});
  std::fill_n(Second.getTensor<float>(0).begin(), 3, 5.F);
  EXPECT_EQ(*Second.evaluate<float>(), 15);
}

/// Sends values there and back.
template <typename T> void sendBack(MLModelRunner &R, const std::string &Name) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> Values = {Limits::lowest(), T(1), Limits::max()};
  Span<T> To = R.getTensor<T>(Name);
  ASSERT_EQ(To.size(), 3U) << Name;
  std::copy(Values.begin(), Values.end(), To.begin());
  Expected<Decision> D = R.evaluate();
  ASSERT_TRUE(D) << D.status().toString();
  EXPECT_EQ(*D->get<std::vector<T>>(Name + "_back"), Values) << Name;
}

TEST_F(Tflite, EveryType) {
  std::vector<TensorSpec> Inputs, Outputs;
  auto Add = [&](const char *Name, ElementType Type) {
    Inputs.emplace_back(Name, Type, std::vector<int64_t>{3});
    Outputs.emplace_back(std::string(Name) + "_back", Type,
                         std::vector<int64_t>{3});
  };
  Add("bool", ElementType::Bool);
  Add("int8", ElementType::Int8);
  Add("int16", ElementType::Int16);
  Add("int32", ElementType::Int32);
  Add("int64", ElementType::Int64);
  Add("uint8", ElementType::UInt8);
  Add("uint16", ElementType::UInt16);
  Add("uint32", ElementType::UInt32);
  Add("uint64", ElementType::UInt64);
  Add("float32", ElementType::Float);
  Add("float64", ElementType::Double);
  Expected<Model> M =
      Model::open("tflite:" + golden("types"), Signature(Inputs, Outputs));
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  sendBack<int8_t>(R, "int8");
  sendBack<int16_t>(R, "int16");
  sendBack<int32_t>(R, "int32");
  sendBack<int64_t>(R, "int64");
  sendBack<uint8_t>(R, "uint8");
  sendBack<uint16_t>(R, "uint16");
  sendBack<uint32_t>(R, "uint32");
  sendBack<uint64_t>(R, "uint64");
  sendBack<float>(R, "float32");
  sendBack<double>(R, "float64");
  R.populateFeatures(std::pair{"bool", std::vector<bool>{true, false, true}});
  Expected<Decision> D = R.evaluate();
  ASSERT_TRUE(D);
  TensorView Bools = D->tensor(0);
  EXPECT_TRUE(Bools.Data[0] == 1 && Bools.Data[1] == 0 && Bools.Data[2] == 1);
}

TEST_F(Tflite, EightThreads) {
  Expected<Model> M =
      Model::open("tflite:" + golden("rows"),
                  Signature({TensorSpec::create<float>("x", {1, 3})},
                            {TensorSpec::create<float>("product", {1, 2})}));
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  std::vector<std::vector<float>> Answers(8);
  std::vector<std::thread> Threads;
  for (std::vector<float> &Mine : Answers)
    Threads.emplace_back([&M, &Mine] {
      MLModelRunner R = M->runner();
      Span<float> X = R.getTensor<float>(0);
      for (int I = 0; I < Evaluations; ++I) {
        X[0] = float(I) / 3;
        X[1] = float(I % 11);
        X[2] = 1 / float(I + 1);
        Expected<Span<const float>> D = R.evaluate<Span<const float>>();
        if (!D || D->size() != 2)
          return;
        Mine.insert(Mine.end(), D->begin(), D->end());
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Answers[0].size(), 2U * Evaluations);
  for (const std::vector<float> &Each : Answers)
    EXPECT_EQ(Each, Answers[0]);
}

TEST_F(Tflite, NotANumberIsNoDecision) {
  Expected<Model> M =
      Model::open("tflite:" + golden("nan"),
                  Signature({TensorSpec::create<float>("x", {2})},
                            TensorSpec::create<float>("y", {2})));
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  EXPECT_EQ(R.evaluate<Span<const float>>().status().code(),
            StatusCode::IllegalDecision);
  EXPECT_TRUE(M->whyNot().ok());
}

TEST_F(Tflite, SignaturesThatDoNotFit) {
  Status S =
      whyNot(golden("inline"),
             Signature({TensorSpec::create<float>("callee_users"),
                        TensorSpec::create<int64_t>("caller_users", {2})},
                       TensorSpec::create<int64_t>("decision")));
  EXPECT_SAYS(S, golden("inline") + "/model.tflite: ");
  EXPECT_SAYS(S, "input 'callee_users': the model wants int64_t[1], the pass "
                 "gives float[1]");
  EXPECT_SAYS(S, "input 'caller_users': the model wants int64_t[1], the pass "
                 "gives int64_t[2]");
  EXPECT_SAYS(S, "input 'inlining_default': the model wants int64_t[1], the "
                 "pass has no such feature");
  EXPECT_SAYS(S, "output 'decision': the pass wants it, the model has "
                 "'inlining_decision'");
  S = whyNot(golden("text"));
  EXPECT_EQ(S.code(), StatusCode::Unsupported);
  EXPECT_SAYS(S, "input 'action_words:0' has strings, which tflite: cannot");
  EXPECT_FALSE(Model::open("tflite:" + golden("text") + "?on_error=fail",
                           inlineSignature()));
}

TEST_F(Tflite, FilesThatAreMissing) {
  EXPECT_EQ(Model::open("tflite:", inlineSignature()).status().code(),
            StatusCode::InvalidArgument);
  EXPECT_SAYS(whyNot(Folder / "none"), Folder / "none");
  std::string Copy = copyOf("inline");
  EXPECT_TRUE(whyNot(Copy).ok());
  std::filesystem::remove(Copy + "/output_spec.json");
  EXPECT_SAYS(whyNot(Copy), Copy + "/output_spec.json");
  EXPECT_EQ(whyNot(Copy).code(), StatusCode::Unavailable);
  write(Copy + "/output_spec.json", "[]");
  EXPECT_SAYS(whyNot(Copy), Copy + "/output_spec.json:1: ");
  std::filesystem::remove(Copy + "/model.tflite");
  std::filesystem::copy_file(golden("inline") + "/output_spec.json",
                             Copy + "/output_spec.json",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_SAYS(whyNot(Copy), Copy + "/model.tflite");
  std::filesystem::create_directory(Copy + "/model.tflite");
  EXPECT_SAYS(whyNot(Copy), Copy + "/model.tflite: is no regular file");
}

// TFLite reads beyond its tensors where a feature says so.
TEST_F(Tflite, ACutThatAFeatureChooses) {
  Expected<Model> M = Model::open("tflite:" + golden("slice"),
                                  {{TensorSpec::create<float>("x", {4}),
                                    TensorSpec::create<int32_t>("start")},
                                   TensorSpec::create<float>("y", {2})});
  ASSERT_TRUE(M);
  EXPECT_SAYS(M->whyNot(), golden("slice") + "/model.tflite: no valid TFLite "
                                             "model: operator 0 (SLICE)");
}

TEST_F(Tflite, SpecsThatAreWrong) {
  std::string Copy = copyOf("inline");
  std::string File = Copy + "/output_spec.json";
  std::string Good = contentOf(File);
  auto With = [&](const std::string &Old, const std::string &New) {
    std::string Text = Good;
    size_t At = Text.find(Old);
    EXPECT_NE(At, std::string::npos) << Old;
    write(File, Text.replace(At, Old.size(), New));
    Status S = whyNot(Copy);
    EXPECT_FALSE(S.ok()) << New;
    EXPECT_SAYS(S, File);
    return S;
  };
  EXPECT_SAYS(With("\"int64_t\"", "\"float\""),
              "'inlining_decision' is float[1]; tensor 'PartitionedCall:0' of");
  EXPECT_SAYS(With("        1\n", "2"), "is int64_t[2]; tensor");
  EXPECT_SAYS(With("\"port\": 0", "\"port\": 1"),
              "is tensor 'PartitionedCall:1'; the outputs of");
  EXPECT_SAYS(With("\"int64_t\"", "\"int65_t\""), "'type': ");
  EXPECT_SAYS(With("\"int64_t\"", "7"), ":7: ");
  EXPECT_SAYS(With("\"port\": 0", "\"port\": -1"), "'port'");
  EXPECT_SAYS(With("\"name\":", "\"nome\":"), "'tensor_spec' has no 'name'");
  EXPECT_SAYS(With("logging_name", "name"), "has no 'logging_name'");
  EXPECT_SAYS(With("tensor_spec", "spec"), "has no 'tensor_spec'");
  EXPECT_SAYS(With("]\n    }\n  }\n]", "]"), "expected");
  write(File, Good.substr(0, Good.size() - 2) + "," + Good.substr(1));
  EXPECT_SAYS(whyNot(Copy), "two outputs have the logging_name");
}

TEST_F(Tflite, LibrariesThatAreMissing) {
  ::setenv("CBRIDGE_TFLITE", (Folder / "none.so").c_str(), 1);
  EXPECT_SAYS(whyNot(golden("inline")), "CBRIDGE_TFLITE");
  EXPECT_SAYS(whyNot(golden("inline")), Folder / "none.so");
  ::setenv("CBRIDGE_TFLITE", "libm.so.6", 1);
  EXPECT_EQ(whyNot(golden("inline")).code(), StatusCode::Unsupported);
  EXPECT_SAYS(whyNot(golden("inline")), "it lacks TfLiteModelCreate");
  ::unsetenv("CBRIDGE_TFLITE");
  Status S = whyNot(golden("inline"));
  if (!S.ok()) { // else it is installed
    EXPECT_SAYS(S, "libtensorflowlite_c.so");
    EXPECT_SAYS(S, "LD_LIBRARY_PATH");
  }
}

TEST_F(Tflite, WhatAModelTakesAndGives) {
  Expected<Signature> Own = Model::describe("tflite:" + golden("rows"));
  ASSERT_TRUE(Own) << Own.status().toString();
  ASSERT_TRUE(Own->inputs().size() == 1 && Own->outputs().size() == 2);
  EXPECT_EQ(Own->inputs()[0].name(), "x");
  EXPECT_EQ(Own->inputs()[0].typeAndShape(), "float[?,3]");
  EXPECT_EQ(Own->outputs()[0].name(), "product");
  EXPECT_EQ(Own->outputs()[0].typeAndShape(), "float[?,2]");
  EXPECT_TRUE(whyNot(golden("rows"), *Own).ok());
  EXPECT_SAYS(Model::describe("tflite:/nowhere").status(), "/nowhere");
  std::string Copy = copyOf("inline");
  write(Copy + "/output_spec.json", "[]");
  EXPECT_SAYS(Model::describe("tflite:" + Copy).status(),
              Copy + "/output_spec.json:1: JSON, byte 2: it lists no output");
}

/// Opens and asks a model that may be broken.
void use(const std::string &Folder, const Signature &Sig) {
  Expected<Model> M = Model::open("tflite:" + Folder, Sig);
  ASSERT_TRUE(M) << M.status().toString();
  if (Status Why = M->whyNot(); !Why.ok()) {
    EXPECT_SAYS(Why, Folder);
    return;
  }
  MLModelRunner R = M->runner();
  for (size_t I = 0; I < Sig.inputs().size(); ++I)
    if (!Sig.inputs()[I].isFixed())
      R.resize(I, {2, 3});
  Expected<Decision> D = R.evaluate();
  EXPECT_NE(D.status().code(), StatusCode::InvalidArgument);
}

TEST_F(Tflite, BrokenModelsDoNoHarm) {
  for (const char *Name : {"inline", "rows"}) {
    Signature Sig = *Name == 'i' ? inlineSignature() : rowsSignature();
    std::string Copy = copyOf(Name), File = Copy + "/model.tflite";
    std::string Good = contentOf(File);
    for (size_t Size = 0; Size < Good.size(); Size += 97) {
      write(File, Good.substr(0, Size));
      use(Copy, Sig);
    }
    std::mt19937 Random(7); // NOLINT: the same every time
    for (int Round = 0; Round < 200; ++Round) {
      std::string Bad = Good;
      for (unsigned N = 1 + Random() % 4; N; --N)
        if (size_t At = Random() % (Bad.size() - 4); Random() % 2)
          Bad[At] = char(Random());
        else
          Bad.replace(At & ~size_t(3), 4, 4, Random() % 2 ? '\xff' : '\0');
      write(File, Bad);
      use(Copy, Sig);
    }
  }
}

TEST_F(Tflite, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  (void)whyNot(golden("inline"));
  use(golden("rows"), rowsSignature());
  std::string Copy = copyOf("inline");
  write(Copy + "/model.tflite", "nonsense of some length");
  Status S = whyNot(Copy);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_SAYS(S, Copy + "/model.tflite: no valid TFLite model");
}

} // namespace
