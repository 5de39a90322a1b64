//===- RunnerStringTest.cpp - Tests of parsing runner strings -------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/RunnerString.h>

#include <gtest/gtest.h>

using namespace cbridge;
using namespace std::chrono_literals;

static RunnerString parsed(std::string_view Text) {
  Expected<RunnerString> R = RunnerString::parse(Text);
  EXPECT_TRUE(R) << R.status().toString();
  return R.valueOr(*RunnerString::parse("broken:"));
}

static std::string errorOf(std::string_view Text) {
  return RunnerString::parse(Text).status().toString();
}

TEST(RunnerStringTest, SplitsSchemeTargetAndOptions) {
  RunnerString R = parsed("pipe:/tmp/a=b&c?timeout=5s&on_error=fail&empty=");
  EXPECT_EQ(R.scheme(), "pipe");
  EXPECT_EQ(R.target(), "/tmp/a=b&c");
  EXPECT_EQ(R.option("timeout"), "5s");
  EXPECT_EQ(R.option("on_error"), "fail");
  EXPECT_TRUE(R.has("empty"));
  EXPECT_EQ(R.option("empty", "default"), "");
  EXPECT_FALSE(R.has("absent"));
  EXPECT_EQ(R.option("absent", "default"), "default");
  EXPECT_EQ(R.text(), "pipe:/tmp/a=b&c?timeout=5s&on_error=fail&empty=");
}

TEST(RunnerStringTest, TargetMayBeEmptyAndHoldColons) {
  EXPECT_EQ(parsed("heuristic:").target(), "");
  EXPECT_EQ(parsed("tcp:[::1]:80").target(), "[::1]:80");
  EXPECT_EQ(parsed("a-b_9:?k=v?w").option("k"), "v?w");
}

TEST(RunnerStringTest, PercentDecodesTargetAndValues) {
  RunnerString R = parsed("pipe:%2ftmp%3Fx?k=a%26b%25");
  EXPECT_EQ(R.target(), "/tmp?x");
  EXPECT_EQ(R.option("k"), "a&b%");
}

TEST(RunnerStringTest, ErrorsPointAtThePlace) {
  EXPECT_EQ(errorOf("pipe:x?timeout"),
            "invalid_argument: runner string, column 15: expected '=' after "
            "the key\n"
            "  pipe:x?timeout\n"
            "                ^");
}

TEST(RunnerStringTest, AFileAloneIsNoRunner) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "followed by ':', such as native:",
                      errorOf("/models/policy.so"));
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "followed by ':', such as onnx:", errorOf("policy.onnx"));
}

TEST(RunnerStringTest, MalformedStringsAreRefused) {
  const struct {
    std::string Text;
    int Column;
  } Cases[] = {
      {"", 1},         {"pipe", 5},       {":x", 1},       {"Pipe:x", 1},
      {"9p:x", 1},     {"pi pe:x", 3},    {"p:?", 4},      {"p:?&", 4},
      {"p:?=v", 4},    {"p:?k", 5},       {"p:?k&l=1", 5}, {"p:?k=1&", 8},
      {"p:?K=1", 4},   {"p:?k=1&k=2", 8}, {"p:%", 3},      {"p:%2", 3},
      {"p:ab%zz", 5},  {"p:?k=%0", 6},    {"p:%00", 3},    {"p:?k=%0?x=1", 6},
      {"p:?k=%2&", 6}, {{"p:\0x", 4}, 3},
  };
  for (const auto &C : Cases)
    EXPECT_PRED_FORMAT2(testing::IsSubstring,
                        "column " + std::to_string(C.Column) + ":",
                        errorOf(C.Text))
        << C.Text;
}

TEST(RunnerStringTest, ErrorsShowControlCharactersAsQuestionMarks) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "\n  p:a?b%\n       ^",
                      errorOf("p:a\nb%"));
}

TEST(RunnerStringTest, ChoiceDefaultsToTheFirst) {
  RunnerString R = parsed("p:?on_error=fail&mode=maybe");
  EXPECT_EQ(R.choice("absent", {"fallback", "fail"}).valueOr(""), "fallback");
  EXPECT_EQ(R.choice("on_error", {"fallback", "fail"}).valueOr(""), "fail");
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "column 23: 'maybe' is none of yes, no\n",
                      R.choice("mode", {"yes", "no"}).status().message());
}

TEST(RunnerStringTest, Durations) {
  const std::pair<const char *, std::chrono::nanoseconds> Good[] = {
      {"10s", 10s},   {"250ms", 250ms}, {"5us", 5us},
      {"2min", 2min}, {"3", 3s},        {"1.5s", 1500ms},
      {"0", 0s},      {"1e3ms", 1s},    {"0.5us", 500ns}};
  for (const auto &[Text, Duration] : Good)
    EXPECT_EQ(parsed(std::string("p:?t=") + Text).duration("t", 1h).valueOr(7h),
              Duration)
        << Text;
  for (const char *Text : {"", "s", "-1s", "10 s", "1h", "inf", "nan", "1e300",
                           "1e30s", "0x10", "1s "})
    EXPECT_EQ(
        parsed(std::string("p:?t=") + Text).duration("t", 1h).status().code(),
        StatusCode::InvalidArgument)
        << Text;
  EXPECT_EQ(parsed("p:").duration("t", 1h).valueOr(0s), 1h);
}

TEST(RunnerStringTest, ByteSizes) {
  const std::pair<const char *, size_t> Good[] = {
      {"0", 0},         {"17", 17},          {"64k", 65536},
      {"16M", 1 << 24}, {"2G", 2147483648U}, {"0.5k", 512}};
  for (const auto &[Text, Size] : Good)
    EXPECT_EQ(parsed(std::string("p:?b=") + Text).byteSize("b", 1).valueOr(2),
              Size)
        << Text;
  for (const char *Text : {"", "-1", "1kB", "k", "1e20", "1T", "nan"})
    EXPECT_EQ(
        parsed(std::string("p:?b=") + Text).byteSize("b", 1).status().code(),
        StatusCode::InvalidArgument)
        << Text;
  EXPECT_EQ(parsed("p:").byteSize("b", 9).valueOr(0), 9u);
}

TEST(RunnerStringTest, WordsSplitAtSpacesThenDecode) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(parsed("p:?spawn= python  my%20model.py --x=%26 ").words("spawn"),
            (Words{"python", "my model.py", "--x=&"}));
  EXPECT_EQ(parsed("p:?spawn=").words("spawn"), Words{});
  EXPECT_EQ(parsed("p:").words("spawn"), Words{});
}

TEST(RunnerStringTest, UnknownKeysAreRefusedWithTheKnownOnes) {
  RunnerString R = parsed("p:x?good=1&typo=2");
  EXPECT_TRUE(R.checkKeys({"good", "typo"}).ok());
  EXPECT_PRED_FORMAT2(testing::IsSubstring,
                      "column 12: 'p:' has no option 'typo'; it has good, "
                      "other\n",
                      R.checkKeys({"good", "other"}).message());
}

TEST(RunnerStringTest, CallersErrorsPointAtSchemeTargetOrValue) {
  RunnerString R = parsed("pipe:x?k=v");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "column 1: no",
                      R.errorAtScheme("no").message());
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "column 6: no",
                      R.errorAtTarget("no").message());
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "column 10: no",
                      R.errorAt("k", "no").message());
  EXPECT_EQ(R.errorAt("k", "no").code(), StatusCode::InvalidArgument);
}

TEST(RunnerStringTest, EscapedTextMeansItself) {
  std::string Odd = "/tmp/a b%20?x=1&y\x01/\xc3\xa9";
  Expected<RunnerString> R =
      RunnerString::parse("pipe:" + RunnerString::escape(Odd) +
                          "?spawn=" + RunnerString::escape(Odd));
  ASSERT_TRUE(R) << R.status().message();
  EXPECT_EQ(R->target(), Odd);
  EXPECT_EQ(R->option("spawn"), Odd);
  EXPECT_EQ(R->words("spawn"), std::vector<std::string>{Odd});
}
