//===- TfTest.cpp - Tests of tf: with a compiled model --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <thread>

using namespace cbridge;

namespace {

const char *const File = CBRIDGE_TF_MODEL;

/// One of the decisions that TensorFlow itself has made.
struct Case {
  int64_t Users = 0;
  int32_t Depth = 0;
  std::array<float, 8> Embedding{};
  int64_t Decision = 0;
  float Score = 0;
};

std::vector<Case> cases() {
  std::vector<Case> All;
  std::ifstream In(CBRIDGE_TF_EXPECTED);
  for (Case C; In >> C.Users >> C.Depth;) {
    for (float &Each : C.Embedding)
      In >> Each;
    In >> C.Decision >> C.Score;
    All.push_back(C);
  }
  return All;
}

Signature signature() {
  return {{TensorSpec::create<float>("embedding", {8}),
           TensorSpec::create<int64_t>("callee_users"),
           TensorSpec::create<std::string>("name"),
           TensorSpec::create<int32_t>("depth"),
           TensorSpec::create<double>("other", {3}),
           TensorSpec::create<int16_t>("rows", {Dynamic, 2})},
          {TensorSpec::create<float>("score"),
           TensorSpec::create<int64_t>("inlining_decision")}};
}

Status whyNot(const Signature &Sig, const std::string &Of = File) {
  Expected<Model> M = Model::open("tf:" + Of, Sig);
  EXPECT_TRUE(M) << M.status().toString();
  return M->whyNot();
}

bool says(const Status &S, const std::string &Text) {
  bool Found = S.message().find(Text) != std::string::npos;
  EXPECT_TRUE(Found) << S.toString();
  return Found;
}

TEST(Tf, DecidesAsTensorFlowDoes) {
  Expected<Model> M = Model::open(std::string("tf:") + File, signature());
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  float *Embedding = R.getTensor<float>(0).data();
  auto *Users = R.getTensor<int64_t>(1).data();
  auto *Depth = R.getTensor<int32_t>(3).data();
  EXPECT_EQ(R.getTensor<double>(4).size(), 3U);
  std::vector<Case> All = cases();
  ASSERT_EQ(All.size(), 200U);
  int Ones = 0;
  for (const Case &C : All) {
    std::copy(C.Embedding.begin(), C.Embedding.end(), Embedding);
    *Users = C.Users;
    *Depth = C.Depth;
    Expected<Decision> D = R.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    EXPECT_NEAR(*D->get<float>("score"), C.Score, 1e-5);
    if (std::fabs(C.Score) > 1e-4) {
      EXPECT_EQ(*D->get<int64_t>("inlining_decision"), C.Decision);
    }
    Ones += int(C.Decision);
    // What was lent stays where it is, and as it is.
    EXPECT_EQ(R.getTensor<float>(0).data(), Embedding);
    EXPECT_TRUE(std::equal(C.Embedding.begin(), C.Embedding.end(), Embedding));
    EXPECT_EQ(*Users, C.Users);
  }
  EXPECT_TRUE(Ones > 20 && Ones < 180) << Ones;
  // What the model does not know may be anything.
  R.populateFeatures(std::pair{"name", "f"},
                     std::pair{"other", std::vector<double>{1, 2, 3}});
  R.resize(5, {7, 2});
  EXPECT_EQ(R.getTensor<int16_t>(5).size(), 14U);
  EXPECT_NEAR(*R.evaluate<float>(), All.back().Score, 1e-5);
}

// ctest runs every test in a process of its own.
TEST(Tf, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  EXPECT_TRUE(whyNot(signature()).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(std::getenv("TF_ENABLE_ONEDNN_OPTS"), nullptr);
}

TEST(Tf, ThreadsHaveInstancesOfTheirOwn) {
  Expected<Model> M = Model::open(std::string("tf:") + File, signature());
  ASSERT_TRUE(M && M->whyNot().ok());
  std::vector<std::vector<float>> Answers(8);
  std::vector<std::thread> Threads;
  for (std::vector<float> &Mine : Answers)
    Threads.emplace_back([&M, &Mine] {
      MLModelRunner R = M->runner();
      for (int I = 0; I < 10000; ++I) {
        R.getTensor<float>(0)[size_t(I) % 8] = float(I) / 1000;
        if (Expected<float> D = R.evaluate<float>())
          Mine.push_back(*D);
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Answers[0].size(), 10000U);
  for (const std::vector<float> &Each : Answers)
    EXPECT_EQ(Each, Answers[0]);
}

TEST(Tf, SignaturesThatDoNotFit) {
  Status S = whyNot({{TensorSpec::create<double>("embedding", {8}),
                      TensorSpec::create<int64_t>("callee_users", {2})},
                     TensorSpec::create<int64_t>("advice")});
  says(S, std::string(File) +
              ": input 'embedding': the model wants float[1,8], the pass "
              "gives double[8]");
  says(S, "input 'callee_users': the model wants int64_t[1], the pass gives "
          "int64_t[2]");
  says(S, "input 'depth': the model wants int32_t[1], the pass has no such "
          "feature");
  says(S, "output 'advice': the pass wants it, the model has "
          "'inlining_decision', 'score'");
  // It is not looked at, so nobody needs it.
  EXPECT_EQ(S.message().find("discount"), std::string::npos);
}

TEST(Tf, WhatAModelTakesAndGives) {
  Expected<Signature> Own = Model::describe(std::string("tf:") + File);
  ASSERT_TRUE(Own) << Own.status().toString();
  ASSERT_TRUE(Own->inputs().size() == 3 && Own->outputs().size() == 2);
  std::optional<size_t> I = Own->inputIndex("embedding");
  ASSERT_TRUE(I);
  EXPECT_EQ(Own->inputs()[*I].typeAndShape(), "float[1,8]");
  EXPECT_TRUE(whyNot(*Own).ok());
  says(Model::describe("tf:/nowhere/model.so").status(), "/nowhere/model.so");
}

TEST(Tf, ExtentsThatVary) {
  Signature Sig({TensorSpec::create<float>("embedding", {Dynamic}),
                 TensorSpec::create<int64_t>("callee_users", {}),
                 TensorSpec::create<int32_t>("depth")},
                TensorSpec::create<float>("score", {1, 1, 1}));
  Expected<Model> M = Model::open(std::string("tf:") + File, Sig);
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  Case C = cases()[0];
  R.populateFeatures(std::pair{"embedding", std::vector<float>(7)});
  says(R.evaluate<float>().status(),
       "'embedding': the model wants float[1,8], the pass gives float[7]");
  R.populateFeatures(std::pair{"embedding", C.Embedding},
                     std::pair{"callee_users", C.Users},
                     std::pair{"depth", C.Depth});
  Expected<float> D = R.evaluate<float>();
  ASSERT_TRUE(D) << D.status().toString();
  EXPECT_NEAR(*D, C.Score, 1e-5);
}

TEST(Tf, AFailedCheckIsAnError) {
  Signature Sig({TensorSpec::create<int32_t>("choice"),
                 TensorSpec::create<float>("x", {4})},
                TensorSpec::create<float>("y", {4}));
  Expected<Model> M = Model::open("tf:" CBRIDGE_TF_BRANCHES, Sig);
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().toString();
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"x", std::vector<float>{1, 2, 3, 4}});
  for (int32_t Choice : {0, 3, -1, 1}) {
    R.populateFeatures(std::pair{"choice", Choice});
    Expected<std::vector<float>> Y = R.evaluate<std::vector<float>>();
    if (Choice < 0 || Choice > 2) {
      EXPECT_EQ(Y.status().code(), StatusCode::ModelError);
      says(Y.status(), "check failed: branch_index < 3");
    } else {
      ASSERT_TRUE(Y) << Y.status().toString();
      EXPECT_EQ(*Y, Choice ? (std::vector<float>{1, 2, 6, 24})
                           : (std::vector<float>{1, 3, 6, 10}));
    }
  }
}

TEST(Tf, FilesThatAreNoModel) {
  EXPECT_EQ(Model::open("tf:", signature()).status().code(),
            StatusCode::InvalidArgument);
  says(whyNot(signature(), "/nowhere/model.so"), "/nowhere/model.so");
  says(whyNot(signature(), CBRIDGE_TF_EXPECTED), CBRIDGE_TF_EXPECTED);
  Status S = whyNot(signature(), CBRIDGE_NO_TF_MODEL);
  says(S, CBRIDGE_NO_TF_MODEL);
  says(S, "has no runner 'tf'");
  EXPECT_EQ(S.code(), StatusCode::Unsupported);
}

} // namespace
