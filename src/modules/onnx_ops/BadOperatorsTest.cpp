//===- BadOperatorsTest.cpp - Operators of others that fail ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever a library of somebody does: the message names the model and the
// culprit, the pass goes on, and nothing is printed.
//
//===----------------------------------------------------------------------===//
#include <cbridge/MLModelRunner.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

using namespace cbridge;

namespace {

std::string fileOf(const std::string &Name) {
  return CBRIDGE_TESTS_DIR "/golden/onnx_ops/" + Name + ".onnx";
}

Signature twoIntegers() {
  return {{TensorSpec::create<int64_t>("x", {2})},
          TensorSpec::create<int64_t>("y", {2})};
}

/// What is printed while it lives.
class Printed {
public:
  Printed() {
    std::fflush(stdout);
    for (int Each : {0, 1}) {
      Saved[Each] = ::dup(1 + Each);
      ::dup2(::fileno(To), 1 + Each);
    }
  }
  ~Printed() {
    std::fflush(stdout);
    for (int Each : {0, 1}) {
      ::dup2(Saved[Each], 1 + Each);
      ::close(Saved[Each]);
    }
    std::fclose(To);
  }
  Printed(const Printed &) = delete;
  Printed &operator=(const Printed &) = delete;
  long size() const {
    std::fflush(stdout);
    std::fseek(To, 0, SEEK_END);
    return std::ftell(To);
  }

private:
  std::FILE *To = std::tmpfile();
  int Saved[2];
};

Expected<Model> openWith(const std::string &Libraries,
                         const std::string &Name = "fails") {
  return Model::open("onnx:" + fileOf(Name) + "?custom_ops=" + Libraries,
                     twoIntegers());
}

std::string whyNot(const std::string &Libraries) {
  Expected<Model> M = openWith(Libraries);
  if (!M)
    return M.status().message();
  EXPECT_EQ(M->runner().evaluateOr<int64_t>([] { return 42; }), 42);
  return M->whyNot().message();
}

struct Case {
  const char *Model, *Operator, *Says;
};

class BadOperatorsTest : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(BadOperatorsTest, FailsOneEvaluation) {
  std::string Why;
  std::vector<int64_t> Then;
  int64_t Fallback = 0;
  long Said = 0;
  {
    Printed All;
    Expected<Model> M = openWith(CBRIDGE_BAD_OPS, GetParam().Model);
    ASSERT_TRUE(M && M->whyNot().ok())
        << (M ? M->whyNot() : M.status()).message();
    MLModelRunner R = M->runner();
    R.populateFeatures(std::pair{"x", std::vector<int64_t>{1, 7}});
    Fallback = R.evaluateOr<int64_t>([] { return 42; });
    Why = R.lastError().message();
    R.populateFeatures(std::pair{"x", std::vector<int64_t>{0, 7}});
    if (auto Answer = R.evaluate<std::vector<int64_t>>())
      Then = *Answer;
    Said = All.size();
  }
  EXPECT_EQ(Fallback, 42);
  for (const std::string &Part :
       {fileOf(GetParam().Model), std::string(GetParam().Operator),
        std::string(GetParam().Says)})
    EXPECT_NE(Why.find(Part), Why.npos) << Why;
  EXPECT_EQ(Then, (std::vector<int64_t>{0, 7}));
  EXPECT_EQ(Said, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOperatorsTest,
    testing::Values(Case{"fails", "Fails", "I dislike this x"},
                    Case{"throws", "Throws", "I throw at this x"},
                    Case{"throws_number", "", "unknown exception"}),
    [](const auto &Info) { return std::string(Info.param.Model); });

TEST(CustomOpsTest, LibrariesThatCannotBeUsed) {
  struct {
    std::string Library, Says;
  } Cases[] = {
      {"/nowhere/ops.so", "there is no such file"},
      {fileOf("fails"), ""}, // no library
      {CBRIDGE_BAD_OPS_NOTHING, "RegisterCustomOps"},
      {CBRIDGE_BAD_OPS_REFUSES, "I do not register"},
      {CBRIDGE_BAD_OPS_THROWS, "I throw instead"},
      {std::string(CBRIDGE_BAD_OPS) + ":" + CBRIDGE_BAD_OPS_REFUSES,
       "I do not register"},
  };
  for (auto &[Library, Says] : Cases) {
    std::string Why;
    long Said = 0;
    {
      Printed All;
      Why = whyNot(Library);
      Said = All.size();
    }
    std::string Last = Library.substr(Library.rfind(':') + 1);
    std::string Begin =
        fileOf("fails") + ": custom operators in " + Last + ": ";
    EXPECT_EQ(Why.substr(0, Begin.size()), Begin);
    EXPECT_NE(Why.find(Says, Begin.size()), Why.npos) << Why;
    EXPECT_EQ(Said, 0) << Library;
  }
}

TEST(CustomOpsTest, ModelsWithoutTheirOperators) {
  Expected<Model> M = Model::open("onnx:" + fileOf("fails"), twoIntegers());
  ASSERT_TRUE(M);
  std::string Why = M->whyNot().message();
  EXPECT_NE(Why.find(fileOf("fails")), Why.npos) << Why;
  EXPECT_NE(Why.find("Fails"), Why.npos) << Why;
}

TEST(CustomOpsTest, OurLibraryIsNotThere) {
  ::unsetenv("CBRIDGE_MODULE_PATH");
  Expected<Model> M =
      Model::open("onnx:" + fileOf("bucketize_float"),
                  {{TensorSpec::create<float>("x", {1}),
                    TensorSpec::create<float>("boundaries", {1})},
                   TensorSpec::create<int64_t>("left", {1})});
  ASSERT_TRUE(M);
  std::string Why = M->whyNot().message();
  EXPECT_NE(Why.find("cbridge-onnx-ops.so"), Why.npos) << Why;
}

TEST(CustomOpsTest, SeveralLibraries) {
  Expected<Model> M =
      openWith(std::string(CBRIDGE_OUR_OPS) + ":" + CBRIDGE_BAD_OPS);
  ASSERT_TRUE(M && M->whyNot().ok()) << M->whyNot().message();
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"x", std::vector<int64_t>{0, 3}});
  EXPECT_EQ(*R.evaluate<std::vector<int64_t>>(), (std::vector<int64_t>{0, 3}));
}
