//===- StatusTest.cpp - Tests of Status and Expected ----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Expected.h>

#include <gtest/gtest.h>

#include <memory>

using namespace cbridge;

TEST(StatusTest, SuccessIsOnePointerWithoutAMessage) {
  static_assert(sizeof(Status) == sizeof(void *));
  Status S;
  EXPECT_TRUE(S.ok());
  EXPECT_TRUE(static_cast<bool>(S));
  EXPECT_EQ(S.code(), StatusCode::Ok);
  EXPECT_EQ(S.message(), "");
  EXPECT_EQ(S.toString(), "ok");
}

TEST(StatusTest, FailureHasCodeAndMessage) {
  Status S = Status::error(StatusCode::Timeout, "no answer");
  EXPECT_FALSE(S.ok());
  EXPECT_EQ(S.code(), StatusCode::Timeout);
  EXPECT_EQ(S.toString(), "timeout: no answer");
}

TEST(StatusTest, CopiesShareTheMessage) {
  Status A = Status::error(StatusCode::Io, "disk");
  Status B = A;
  EXPECT_EQ(&A.message(), &B.message());
  const std::string &Message = B.message();
  A = Status();
  EXPECT_TRUE(A.ok());
  EXPECT_EQ(Message, "disk");
}

TEST(StatusTest, MovedFromIsSuccess) {
  Status A = Status::error(StatusCode::Io, "disk");
  Status B = std::move(A);
  EXPECT_TRUE(A.ok()); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(B.toString(), "io: disk");
}

TEST(StatusTest, SelfAssignmentKeepsTheFailure) {
  Status S = Status::error(StatusCode::Io, "disk");
  const Status &Same = S;
  S = Same;
  EXPECT_EQ(S.toString(), "io: disk");
}

TEST(StatusTest, ContextIsPutInFront) {
  Status S = Status::error(StatusCode::Protocol, "bad magic");
  EXPECT_EQ(S.withContext("pipe:/tmp/x").toString(),
            "protocol: pipe:/tmp/x: bad magic");
  EXPECT_EQ(S.toString(), "protocol: bad magic");
  EXPECT_TRUE(Status().withContext("pipe:/tmp/x").ok());
}

TEST(StatusTest, NumbersAndNamesOfCodesNeverChange) {
  const struct {
    int32_t Number;
    const char *Name;
    bool IsTransport;
  } Codes[] = {
      {1, "invalid_argument", false},
      {2, "type_mismatch", false},
      {3, "shape_mismatch", false},
      {4, "abstained", false},
      {5, "illegal_decision", false},
      {6, "peer_error", false},
      {7, "unavailable", true},
      {8, "timeout", true},
      {9, "peer_closed", true},
      {10, "protocol", true},
      {11, "io", true},
      {12, "out_of_memory", false},
      {13, "forked", true},
      {14, "unsupported", false},
      {15, "model_error", false},
  };
  for (const auto &C : Codes) {
    auto Code = static_cast<StatusCode>(C.Number);
    EXPECT_STREQ(toString(Code), C.Name);
    EXPECT_EQ(Status::error(Code, "").isTransport(), C.IsTransport) << C.Name;
  }
  EXPECT_STREQ(toString(StatusCode::Ok), "ok");
  EXPECT_STREQ(toString(static_cast<StatusCode>(16)), "unknown");
  EXPECT_FALSE(Status().isTransport());
}

TEST(ExpectedTest, HoldsAValue) {
  Expected<std::string> E = std::string("yes");
  ASSERT_TRUE(E);
  EXPECT_EQ(*E, "yes");
  EXPECT_EQ(E->size(), 3u);
  EXPECT_TRUE(E.status().ok());
  EXPECT_EQ(E.valueOr("no"), "yes");
}

TEST(ExpectedTest, HoldsAnError) {
  Expected<std::string> E = Status::error(StatusCode::Io, "disk");
  EXPECT_FALSE(E);
  EXPECT_EQ(E.status().toString(), "io: disk");
  EXPECT_EQ(E.valueOr("no"), "no");
}

TEST(ExpectedTest, TakesWhatConverts) {
  struct Base {
    virtual ~Base() = default;
  };
  struct Derived : Base {};
  auto Made = std::make_unique<Derived>();
  Base *Address = Made.get();
  Expected<std::unique_ptr<Base>> E = std::move(Made);
  ASSERT_TRUE(E);
  EXPECT_EQ(E->get(), Address);
}
