//===- PassModelTest.cpp --------------------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/PassModel.h>

#include <gtest/gtest.h>

using namespace cbridge;

namespace {

/// A variable of the environment while it lives. Each test has its own, since
/// models are kept for the life of the process.
class Set {
public:
  Set(const char *Name, const char *Value) : Name(Name) {
    ::setenv(Name, Value, 1);
  }
  ~Set() { ::unsetenv(Name); }
  Set(const Set &) = delete;
  Set &operator=(const Set &) = delete;

private:
  const char *Name;
};

int64_t ask(const char *Variable, int64_t Otherwise) {
  auto Runner = passModel(Variable, {"size"}, "decision").runner();
  Runner.populateFeatures(std::pair{"size", 3});
  return Runner.evaluateOr<int64_t>([&] { return Otherwise; });
}

std::string said(const char *Variable, int64_t Expected) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ask(Variable, 7), Expected);
  EXPECT_EQ(ask(Variable, 7), Expected); // and is not told again
  return testing::internal::GetCapturedStderr();
}

TEST(PassModelTest, IsTheOneThatTheVariableNames) {
  Set Model("PASS_NAMED_MODEL", "constant:42");
  EXPECT_EQ(said("PASS_NAMED_MODEL", 42), "");
}

TEST(PassModelTest, LeavesDecisionsToThePassWithoutAModel) {
  EXPECT_EQ(said("PASS_UNSET_MODEL", 7), "");
  Set Model("PASS_EMPTY_MODEL", "");
  EXPECT_EQ(said("PASS_EMPTY_MODEL", 7), "");
}

TEST(PassModelTest, CanBeDisabled) {
  Set Model("PASS_DISABLED_MODEL", "constant:42");
  Set Disable("CBRIDGE_DISABLE", "1");
  EXPECT_EQ(said("PASS_DISABLED_MODEL", 7), "");
}

TEST(PassModelTest, IsNotDisabledByZero) {
  Set Model("PASS_ZERO_MODEL", "constant:42");
  Set Disable("CBRIDGE_DISABLE", "0");
  EXPECT_EQ(said("PASS_ZERO_MODEL", 42), "");
}

TEST(PassModelTest, TellsOnceInOneLineWhyAStringIsWrong) {
  Set Model("PASS_WRONG_MODEL", "constant:many");
  EXPECT_EQ(said("PASS_WRONG_MODEL", 7),
            "cbridge: PASS_WRONG_MODEL: runner string, column 10: 'many' is no "
            "value for 'decision', which is int64_t[1]; where the model does "
            "not decide, the pass does\n");
}

TEST(PassModelTest, TellsOnceInOneLineWhyAModelIsNotThere) {
  Set Model("PASS_ABSENT_MODEL", "onnx:/nowhere/policy.onnx");
  std::string Told = said("PASS_ABSENT_MODEL", 7);
  EXPECT_EQ(Told.find("cbridge: PASS_ABSENT_MODEL: "), 0u) << Told;
  EXPECT_NE(Told.find("/nowhere/policy.onnx"), std::string::npos) << Told;
  EXPECT_EQ(Told.find('\n'), Told.size() - 1) << Told;
}

TEST(PassModelTest, IsOpenedOnce) {
  Set Model("PASS_ONCE_MODEL", "constant:1");
  const auto &First = passModel("PASS_ONCE_MODEL", {"size"}, "decision");
  ::setenv("PASS_ONCE_MODEL", "constant:2", 1);
  EXPECT_EQ(&passModel("PASS_ONCE_MODEL", {"size"}, "decision"), &First);
}

} // namespace
