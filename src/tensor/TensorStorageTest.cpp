//===- TensorStorageTest.cpp - Tests of memory for tensors ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/TensorStorage.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace cbridge;

static bool isAligned(const void *P) {
  return reinterpret_cast<uintptr_t>(P) % 64 == 0;
}

template <typename T>
static std::vector<T> values(const TensorStorage &Storage, size_t I) {
  Span<const T> All = Storage.view(I).as<T>();
  return {All.begin(), All.end()};
}

static std::vector<int64_t> extents(const TensorStorage &Storage, size_t I) {
  Span<const int64_t> All = Storage.view(I).Extents;
  return {All.begin(), All.end()};
}

static std::vector<std::string> strings(const TensorView &V) {
  std::vector<std::string> All;
  All.reserve(V.elementCount());
  for (size_t I = 0; I < V.elementCount(); ++I)
    All.emplace_back(V.string(I));
  return All;
}

TEST(TensorStorageTest, StartsAsZerosWithTheShapesOfTheSpecs) {
  TensorStorage S({TensorSpec::create<int32_t>("fixed", {2, 3}),
                   TensorSpec::create<float>("dynamic", {Dynamic, 4}),
                   TensorSpec::create<std::string>("strings", {2}),
                   TensorSpec::create<double>("scalar", {})});
  ASSERT_TRUE(S.status().ok());
  ASSERT_EQ(S.size(), 4u);
  EXPECT_EQ(S.spec(1).name(), "dynamic");
  EXPECT_EQ(values<int32_t>(S, 0), std::vector<int32_t>(6, 0));
  EXPECT_EQ(extents(S, 1), (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(S.view(1).Data.size(), 0u);
  EXPECT_EQ(strings(S.view(2)), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(values<double>(S, 3), std::vector<double>{0});
  EXPECT_EQ(S.view(3).elementCount(), 1u);
}

TEST(TensorStorageTest, FixedTensorsLieInOneBlockAtMultiplesOf64) {
  TensorStorage S(
      {TensorSpec::create<bool>("a"), TensorSpec::create<double>("b", {9}),
       TensorSpec::create<int8_t>("c", {64}), TensorSpec::create<int8_t>("d")});
  unsigned char *First = S.bytes(0).data();
  EXPECT_TRUE(isAligned(First));
  EXPECT_EQ(S.bytes(1).data(), First + 64);
  EXPECT_EQ(S.bytes(2).data(), First + 64 + 128);
  EXPECT_EQ(S.bytes(3).data(), First + 64 + 128 + 64);
  EXPECT_EQ(S.bytes(1).size(), 72u);
}

TEST(TensorStorageTest, WrongTypeGivesAnEmptySpan) {
  TensorStorage S({TensorSpec::create<int32_t>("x", {2})});
  EXPECT_EQ(S.view(0).as<int32_t>().size(), 2u);
  EXPECT_EQ(S.view(0).as<uint32_t>().size(), 0u);
  EXPECT_EQ(S.view(0).as<float>().size(), 0u);
}

TEST(TensorStorageTest, DynamicTensorsGrowInPlace) {
  TensorStorage S({TensorSpec::create<int64_t>("x", {Dynamic})});
  ASSERT_TRUE(S.resize(0, {3}).ok());
  unsigned char *Base = S.bytes(0).data();
  EXPECT_TRUE(isAligned(Base));
  const int64_t Values[] = {7, 8, 9};
  std::memcpy(Base, Values, sizeof(Values));
  ASSERT_TRUE(S.resize(0, {1 << 20}).ok());
  EXPECT_EQ(S.bytes(0).data(), Base);
  EXPECT_EQ(S.bytes(0).size(), size_t(8) << 20);
  EXPECT_EQ(S.view(0).as<int64_t>()[2], 9);
  EXPECT_EQ(S.view(0).as<int64_t>()[3], 0);
  ASSERT_TRUE(S.resize(0, {2}).ok());
  EXPECT_EQ(values<int64_t>(S, 0), (std::vector<int64_t>{7, 8}));
}

TEST(TensorStorageTest, PaddingIsZeroAfterShrinking) {
  TensorStorage S({TensorSpec::create<uint8_t>("x", {Dynamic}),
                   TensorSpec::create<std::string>("s")});
  ASSERT_TRUE(S.resize(0, {64}).ok());
  std::memset(S.bytes(0).data(), 0xFF, 64);
  ASSERT_TRUE(S.resize(0, {1}).ok());
  const unsigned char *Data = S.bytes(0).data();
  EXPECT_EQ(std::count(Data + 1, Data + 64, 0), 63);

  ASSERT_TRUE(S.setStrings(1, {std::string_view("secret password")}, {1}).ok());
  ASSERT_TRUE(S.setStrings(1, {std::string_view("")}, {1}).ok());
  Data = S.bytes(1).data();
  EXPECT_EQ(std::count(Data, Data + 64, 0), 64);
}

TEST(TensorStorageTest, EmptyIsASizeLikeAnyOther) {
  TensorStorage S({TensorSpec::create<float>("x", {Dynamic, Dynamic}),
                   TensorSpec::create<float>("never", {0})});
  ASSERT_TRUE(S.resize(0, {0, 5}).ok());
  EXPECT_EQ(extents(S, 0), (std::vector<int64_t>{0, 5}));
  EXPECT_EQ(S.bytes(0).size(), 0u);
  ASSERT_TRUE(S.resize(0, {2, 5}).ok());
  EXPECT_EQ(S.bytes(0).size(), 40u);
  ASSERT_TRUE(S.resize(0, {0, 0}).ok());
  EXPECT_EQ(S.bytes(0).size(), 0u);
  EXPECT_EQ(S.bytes(1).size(), 0u);
}

TEST(TensorStorageTest, ResizeRefusesOtherShapes) {
  TensorStorage S({TensorSpec::create<float>("fixed", {2}),
                   TensorSpec::create<float>("rows", {Dynamic, 3}),
                   TensorSpec::create<std::string>("strings", {Dynamic})});
  EXPECT_TRUE(S.resize(0, {2}).ok());
  EXPECT_EQ(S.resize(0, {3}).toString(),
            "shape_mismatch: 'fixed': is float[2], got shape [3]");
  ASSERT_TRUE(S.resize(1, {2, 3}).ok());
  EXPECT_EQ(S.resize(1, {2, 4}).code(), StatusCode::ShapeMismatch);
  EXPECT_EQ(S.resize(1, {-1, 3}).code(), StatusCode::ShapeMismatch);
  EXPECT_EQ(S.resize(2, {1}).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(extents(S, 1), (std::vector<int64_t>{2, 3}));
}

TEST(TensorStorageTest, CapsHoldAndLeaveTheTensorAsItWas) {
  TensorStorage S({TensorSpec::create<uint8_t>("x", {Dynamic, Dynamic})});
  ASSERT_TRUE(S.resize(0, {1, 2}).ok());
  EXPECT_EQ(S.resize(0, {(1 << 30) + 1, 1}).toString(),
            "out_of_memory: 'x': 1073741825 bytes are above the cap of "
            "1073741824");
  EXPECT_EQ(S.resize(0, {int64_t(1) << 62, int64_t(1) << 62}).code(),
            StatusCode::ShapeMismatch);
  EXPECT_EQ(extents(S, 0), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(S.bytes(0).size(), 2u);
}

TEST(TensorStorageTest, TooLargeFixedTensorsAreReported) {
  auto Code = [](std::vector<TensorSpec> Specs) {
    return TensorStorage(std::move(Specs)).status().code();
  };
  EXPECT_EQ(Code({TensorSpec::create<double>("x", {int64_t(1) << 40})}),
            StatusCode::OutOfMemory);
  // The cap is on their sum.
  EXPECT_EQ(Code({TensorSpec::create<uint8_t>("x", {1 << 30}),
                  TensorSpec::create<uint8_t>("y", {1})}),
            StatusCode::OutOfMemory);
  EXPECT_EQ(Code({TensorSpec::create<std::string>("x", {int64_t(1) << 40})}),
            StatusCode::OutOfMemory);
}

TEST(TensorStorageTest, StringsOfAnyContent) {
  TensorStorage S({TensorSpec::create<std::string>("s", {Dynamic})});
  std::string Long(100000, 'x');
  std::vector<std::string_view> Values = {"", {"a\0b", 3}, "\xc3\xa9", Long};
  ASSERT_TRUE(S.setStrings(0, Values, {4}).ok());
  EXPECT_EQ(strings(S.view(0)),
            std::vector<std::string>(Values.begin(), Values.end()));
  EXPECT_TRUE(checkStringTensor(S.view(0).Data, 4).ok());
  ASSERT_TRUE(S.setStrings(0, {}, {0}).ok());
  EXPECT_EQ(strings(S.view(0)), std::vector<std::string>{});
  EXPECT_TRUE(checkStringTensor(S.view(0).Data, 0).ok());
}

TEST(TensorStorageTest, SetStringsRefusesOtherCountsShapesAndTypes) {
  TensorStorage S({TensorSpec::create<std::string>("two", {2}),
                   TensorSpec::create<std::string>("any", {Dynamic}),
                   TensorSpec::create<int64_t>("number")});
  std::string_view Three[] = {"a", "b", "c"};
  unsigned char *Number = S.bytes(2).data();
  EXPECT_EQ(S.setStrings(0, Three, {3}).code(), StatusCode::ShapeMismatch);
  EXPECT_EQ(S.setStrings(0, Three, {2}).code(), StatusCode::ShapeMismatch);
  EXPECT_EQ(S.setStrings(1, Three, {2}).code(), StatusCode::ShapeMismatch);
  EXPECT_EQ(S.setStrings(2, {std::string_view("a")}, {1}).code(),
            StatusCode::TypeMismatch);
  EXPECT_EQ(strings(S.view(0)), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(S.bytes(2).data(), Number);
}

TEST(TensorStorageTest, AssignCopiesExtentsAndBytes) {
  std::vector<TensorSpec> Specs = {TensorSpec::create<float>("fixed", {2}),
                                   TensorSpec::create<float>("any", {Dynamic}),
                                   TensorSpec::create<std::string>("s", {1})};
  TensorStorage From(Specs), To(Specs);
  const float Values[] = {1.5f, 2.5f};
  std::memcpy(From.bytes(0).data(), Values, sizeof(Values));
  ASSERT_TRUE(From.resize(1, {2}).ok());
  std::memcpy(From.bytes(1).data(), Values, sizeof(Values));
  ASSERT_TRUE(From.setStrings(2, {std::string_view("hi")}, {1}).ok());
  for (size_t I = 0; I < 3; ++I)
    ASSERT_TRUE(To.assign(I, From.view(I)).ok());
  EXPECT_EQ(values<float>(To, 0), (std::vector<float>{1.5f, 2.5f}));
  EXPECT_EQ(values<float>(To, 1), (std::vector<float>{1.5f, 2.5f}));
  EXPECT_EQ(To.view(2).string(0), "hi");
  EXPECT_NE(To.bytes(0).data(), From.bytes(0).data());

  EXPECT_EQ(To.assign(0, From.view(1)).code(), StatusCode::Ok);
  ASSERT_TRUE(From.resize(1, {0}).ok());
  EXPECT_EQ(To.assign(0, From.view(1)).code(), StatusCode::ShapeMismatch);
  ASSERT_TRUE(To.assign(1, From.view(1)).ok());
  EXPECT_EQ(values<float>(To, 1), std::vector<float>{});
}

TEST(TensorStorageTest, MovingKeepsAddressesAndViews) {
  TensorStorage A({TensorSpec::create<float>("x", {2})});
  unsigned char *Data = A.bytes(0).data();
  const TensorSpec *Spec = A.view(0).Spec;
  TensorStorage B = std::move(A);
  EXPECT_EQ(B.bytes(0).data(), Data);
  EXPECT_EQ(B.views()[0].Spec, Spec);
}

TEST(TensorStorageTest, MalformedStringTensorsAreRecognised) {
  auto Check = [](const std::vector<uint64_t> &Offsets,
                  std::string_view Characters, size_t Count) {
    std::string Data(reinterpret_cast<const char *>(Offsets.data()),
                     Offsets.size() * sizeof(uint64_t));
    Data += Characters;
    std::vector<unsigned char> Exact(Data.begin(), Data.end());
    return checkStringTensor(Exact, Count).ok();
  };
  EXPECT_TRUE(Check({0}, "", 0));
  EXPECT_TRUE(Check({0, 1, 1, 3}, "abc", 3));
  EXPECT_FALSE(Check({}, "", 0));
  EXPECT_FALSE(Check({}, "1234567", 0));
  EXPECT_FALSE(Check({0, 1}, "a", 2));
  EXPECT_FALSE(Check({1, 2}, "ab", 1));          // does not start at 0
  EXPECT_FALSE(Check({0, 2, 1}, "ab", 2));       // goes back
  EXPECT_FALSE(Check({0, 3}, "ab", 1));          // past the end
  EXPECT_FALSE(Check({0, 1}, "ab", 1));          // leaves characters
  EXPECT_FALSE(Check({0, ~uint64_t(0)}, "", 1)); // wraps around
  EXPECT_FALSE(Check({0}, "", ~size_t(0)));
  EXPECT_FALSE(Check({0}, "", size_t(1) << 61));
}
