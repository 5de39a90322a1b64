//===- UserMessagesTest.cpp - Our messages and generated classes ----------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/UserMessages.h"

#include "modules/grpc/proto/UserProto.h"

#include <gtest/gtest.h>
#include <kinds.pb.h>
#include <old.pb.h>

#include <cstring>
#include <random>

using namespace cbridge;
namespace pb = cbridge::test;
namespace old = cbridge::old;

namespace {

template <typename T>
TensorSpec spec(const char *Name, std::vector<int64_t> Shape = {}) {
  return TensorSpec::create<T>(Name, std::move(Shape));
}

template <typename T>
void fill(TensorStorage &To, size_t I, std::vector<int64_t> Extents,
          std::vector<T> Values) {
  ASSERT_TRUE(To.resize(I, Extents).ok());
  ASSERT_EQ(To.bytes(I).size(), Values.size() * sizeof(T));
  for (size_t V = 0; V < Values.size(); ++V) {
    T Value = Values[V];
    std::memcpy(To.bytes(I).data() + V * sizeof(T), &Value, sizeof(T));
  }
}

/// The messages of one runner.
struct Messages {
  Messages(const Signature &Sig, const std::string &Sent,
           const std::string &Received, bool Serving = false)
      : Features(Sig.inputs()),
        To(std::make_shared<std::vector<TensorSpec>>(Sig.outputs())) {
    auto B = bindTest(Sig, Sent, Received, Serving);
    EXPECT_TRUE(B) << B.status().toString();
    if (B)
      M = std::make_unique<UserMessages>(*B);
  }
  Expected<std::string> encode(const Told &Beside = {}, bool End = false) {
    Message Out;
    Span<const TensorView> Views;
    if (!End)
      Views = Features.views();
    if (Status S = M->encode(Views, Beside, Out); !S)
      return S;
    EXPECT_TRUE(Out.lent().empty());
    return std::string(Out.own().begin(), Out.own().end());
  }
  /// Encodes and lets a generated class read it.
  template <typename T> T sent(const Told &Beside = {}, bool End = false) {
    T Read;
    Expected<std::string> Bytes = encode(Beside, End);
    EXPECT_TRUE(Bytes) << Bytes.status().toString();
    EXPECT_TRUE(Bytes && Read.ParseFromString(*Bytes));
    return Read;
  }
  Expected<Answered> decode(const std::string &From) {
    return M->decode(
        {reinterpret_cast<const unsigned char *>(From.data()), From.size()},
        To);
  }
  std::string decodeError(const std::string &From) {
    Expected<Answered> A = decode(From);
    return A ? "" : A.status().message();
  }
  template <typename T> std::vector<T> values(size_t I) {
    std::vector<T> All(To.Views[I].Data.size() / sizeof(T));
    if (!All.empty())
      std::memcpy(All.data(), To.Views[I].Data.data(), To.Views[I].Data.size());
    return All;
  }
  std::vector<int64_t> extents(size_t I) {
    return {To.Views[I].Extents.begin(), To.Views[I].Extents.end()};
  }

  TensorStorage Features;
  DecodedTensors To;
  std::unique_ptr<UserMessages> M;
};

constexpr const char Everything[] = "cbridge.test.Everything";
constexpr const char Advised[] = "cbridge.test.Advised";

/// All kinds, as inputs and as outputs.
std::vector<TensorSpec> allKinds() {
  return {spec<bool>("flag"),
          spec<int32_t>("i32", {1}),
          spec<int64_t>("i64"),
          spec<uint32_t>("u32"),
          spec<uint64_t>("u64"),
          spec<float>("f"),
          spec<double>("d"),
          spec<std::string>("text"),
          spec<int16_t>("raw", {Dynamic, 2}),
          spec<int32_t>("color"),
          spec<uint8_t>("nodes.raw", {Dynamic, 2}),
          spec<int32_t>("i32s", {Dynamic}),
          spec<int64_t>("i64s", {3}),
          spec<uint32_t>("u32s", {Dynamic, 2}),
          spec<uint64_t>("u64s", {0}),
          spec<float>("fs", {2, 2}),
          spec<double>("ds", {Dynamic}),
          spec<std::string>("texts", {Dynamic}),
          spec<std::string>("raws", {2}),
          spec<int64_t>("colors", {Dynamic}),
          spec<int64_t>("callee.size"),
          spec<int64_t>("caller.size"),
          spec<int64_t>("nodes.size", {Dynamic}),
          spec<float>("weights", {Dynamic, Dynamic}),
          spec<std::string>("nodes.name", {Dynamic}),
          spec<int64_t>("nodes.detail.depth", {Dynamic}),
          spec<int64_t>("maybe"),
          spec<int64_t>("left"),
          spec<bool>("flags", {Dynamic})};
}

pb::Everything sample(int Nodes) {
  pb::Everything E;
  E.set_flag(true);
  E.set_i32(-7);
  E.set_i64(INT64_MIN);
  E.set_u32(UINT32_MAX);
  E.set_u64(UINT64_MAX);
  E.set_f(1.5f);
  E.set_d(-0.0);
  E.set_text("caf\xc3\xa9");
  E.set_raw(std::string("\1\0\2\0\3\0\4\1", 8));
  E.set_color(pb::GREEN);
  for (int I = 0; I < 5; ++I)
    E.add_i32s(I - 2);
  for (int I = 0; I < 3; ++I)
    E.add_i64s(INT64_MAX - I);
  for (unsigned I = 0; I < 4; ++I)
    E.add_u32s(I);
  for (int I = 0; I < 4; ++I)
    E.add_fs(float(I) / 4);
  E.add_ds(1e300);
  E.add_texts("");
  E.add_texts("b");
  E.add_raws("\xff");
  E.add_raws("");
  E.add_colors(pb::GREEN);
  E.add_colors(pb::Color(42)); // proto3 keeps what it does not know
  E.mutable_callee()->set_size(11);
  E.mutable_caller()->set_size(0);
  for (int I = 0; I < Nodes; ++I) {
    pb::Node &N = *E.add_nodes();
    N.set_size(100 + I);
    for (int W = 0; W < 3; ++W)
      N.add_weights(float(I * 3 + W));
    N.set_name("n" + std::to_string(I));
    N.mutable_detail()->set_depth(I);
    N.set_raw(std::string(2, char(I)));
  }
  E.set_maybe(0);
  E.set_left(3);
  E.add_flags(true);
  E.add_flags(false);
  return E;
}

} // namespace

/// Generated bytes become tensors, and these tensors the same bytes again.
TEST(UserMessagesTest, EveryKindBothWays) {
  Messages M({allKinds(), allKinds()}, Everything, Everything);
  ASSERT_TRUE(M.M);
  for (int Nodes : {4, 0, 1, 7}) {
    pb::Everything Theirs = sample(Nodes);
    Expected<Answered> A = M.decode(Theirs.SerializeAsString());
    ASSERT_TRUE(A) << A.status().toString();
    EXPECT_FALSE(A->Step);
    for (size_t I = 0; I < M.To.Views.size(); ++I) {
      EXPECT_EQ(M.To.Views[I].Spec, &(*M.To.Specs)[I]);
      EXPECT_EQ(uintptr_t(M.To.Views[I].Data.data()) % 64, 0u);
      Status S = M.Features.assign(I, M.To.Views[I]);
      ASSERT_TRUE(S.ok()) << S.toString();
    }
    pb::Everything Ours = M.sent<pb::Everything>();
    EXPECT_EQ(Ours.SerializeAsString(), Theirs.SerializeAsString())
        << Ours.DebugString();
  }
}

TEST(UserMessagesTest, SomeValuesByHand) {
  Messages M({allKinds(), allKinds()}, Everything, Everything);
  ASSERT_TRUE(M.decode(sample(2).SerializeAsString()));
  EXPECT_EQ(M.values<int16_t>(8), (std::vector<int16_t>{1, 2, 3, 0x104}));
  EXPECT_EQ(M.extents(8), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(M.extents(13), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(M.values<int64_t>(19), (std::vector<int64_t>{1, 42}));
  EXPECT_EQ(M.values<int64_t>(22), (std::vector<int64_t>{100, 101}));
  EXPECT_EQ(M.extents(23), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(M.values<float>(23), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(M.To.Views[7].string(0), "caf\xc3\xa9");
  EXPECT_EQ(M.To.Views[17].string(1), "b");
  EXPECT_EQ(M.To.Views[24].string(1), "n1");
}

TEST(UserMessagesTest, ValuesAreConverted) {
  Signature Sig({spec<int8_t>("i64"), spec<uint16_t>("f"), spec<float>("d"),
                 spec<uint8_t>("i32s", {3}), spec<int64_t>("color")},
                {spec<double>("u32"), spec<double>("f"),
                 spec<int64_t>("i32s", {Dynamic})});
  Messages M(Sig, Everything, Everything);
  fill<int8_t>(M.Features, 0, {}, {-128});
  fill<uint16_t>(M.Features, 1, {}, {65535});
  fill<float>(M.Features, 2, {}, {0.1f});
  fill<uint8_t>(M.Features, 3, {3}, {0, 128, 255});
  fill<int64_t>(M.Features, 4, {}, {1});
  auto E = M.sent<pb::Everything>();
  EXPECT_EQ(E.i64(), -128);
  EXPECT_EQ(E.f(), 65535.f);
  EXPECT_EQ(E.d(), double(0.1f));
  EXPECT_EQ(E.i32s(2), 255);
  EXPECT_EQ(E.color(), pb::GREEN);
  ASSERT_TRUE(M.decode(sample(0).SerializeAsString()));
  EXPECT_EQ(M.values<double>(0), std::vector<double>{4294967295.});
  EXPECT_EQ(M.values<int64_t>(2), (std::vector<int64_t>{-2, -1, 0, 1, 2}));
}

TEST(UserMessagesTest, RepeatedMessagesHaveOneCount) {
  Signature Sig({spec<int64_t>("nodes.size", {Dynamic}),
                 spec<std::string>("nodes.name", {Dynamic})},
                adviceOfTest());
  Messages M(Sig, Everything, Advised);
  fill<int64_t>(M.Features, 0, {2}, {1, 2});
  ASSERT_TRUE(M.Features.setStrings(1, {"a", "b", "c"}, {3}).ok());
  Status S = M.encode().status();
  EXPECT_EQ(S.code(), StatusCode::ShapeMismatch);
  EXPECT_EQ(S.message(), "input 'nodes.name': 3 messages 'nodes', but input "
                         "'nodes.size' has 2");
  // A failure leaves nothing behind.
  ASSERT_TRUE(M.Features.setStrings(1, {"a", "b"}, {2}).ok());
  EXPECT_EQ(M.sent<pb::Everything>().nodes_size(), 2);
}

TEST(UserMessagesTest, WhatCannotBeSent) {
  Signature Sig({spec<std::string>("text"), spec<int64_t>("color")},
                adviceOfTest());
  Messages M(Sig, Everything, Advised);
  ASSERT_TRUE(M.Features.setStrings(0, {"\xff"}, {}).ok());
  EXPECT_EQ(M.encode().status().message(),
            "input 'text': a string that is not UTF-8, which string 'text' "
            "must be; bytes would hold it");
  ASSERT_TRUE(M.Features.setStrings(0, {"ok"}, {}).ok());
  fill<int64_t>(M.Features, 1, {}, {int64_t(1) << 31});
  EXPECT_EQ(M.encode().status().message(),
            "input 'color': 2147483648 is no value of enum Color");
  fill<int64_t>(M.Features, 1, {}, {-5}); // proto3 enums are open
  EXPECT_EQ(int(M.sent<pb::Everything>().color()), -5);

  Messages Old({{spec<int64_t>("x"), spec<int64_t>("level")}, adviceOfTest()},
               "cbridge.old.Needs", Advised);
  Status S = Old.encode().status();
  EXPECT_EQ(S.code(), StatusCode::TypeMismatch);
  EXPECT_EQ(S.message(), "input 'level': 0 is no value of enum Level");
}

TEST(UserMessagesTest, RepliesThatLackSomething) {
  Signature Sig({}, {spec<int64_t>("maybe"), spec<int64_t>("i64")});
  Messages M(Sig, Everything, Everything);
  EXPECT_EQ(M.decodeError(""), "output 'maybe': the reply has no 'maybe'");
  EXPECT_EQ(M.decode("").status().code(), StatusCode::ShapeMismatch);
  pb::Everything E;
  E.set_maybe(0);
  // Nobody can tell 0 from nothing here.
  EXPECT_EQ(M.decodeError(E.SerializeAsString()), "");
  EXPECT_EQ(M.values<int64_t>(1), std::vector<int64_t>{0});

  auto Lacks = [](TensorSpec Output, const pb::Everything &From) {
    return Messages({{}, std::move(Output)}, Everything, Everything)
        .decodeError(From.SerializeAsString());
  };
  EXPECT_EQ(Lacks(spec<int64_t>("callee.size"), E),
            "output 'callee.size': the reply has no 'callee.size'");
  EXPECT_EQ(Lacks(spec<int64_t>("left"), E),
            "output 'left': the reply has no 'left'");
  E.set_right(5);
  EXPECT_EQ(Lacks(spec<int64_t>("left"), E),
            "output 'left': the reply has no 'left'");
  E.add_nodes()->set_maybe(1);
  E.add_nodes();
  EXPECT_EQ(Lacks(spec<int64_t>("nodes.maybe", {Dynamic}), E),
            "output 'nodes.maybe': the reply has no 'nodes.maybe'");
  EXPECT_EQ(Lacks(spec<int64_t>("nodes.detail.size", {Dynamic}), E),
            "output 'nodes.detail.size': the reply has no "
            "'nodes.detail.size'");
}

TEST(UserMessagesTest, RepliesOfWrongShape) {
  pb::Everything E = sample(2);
  auto Why = [&](TensorSpec Output) {
    Messages M({{}, std::move(Output)}, Everything, Everything);
    Expected<Answered> A = M.decode(E.SerializeAsString());
    EXPECT_TRUE(A || A.status().code() == StatusCode::ShapeMismatch);
    return A ? "" : A.status().message();
  };
  EXPECT_EQ(Why(spec<int64_t>("i64s", {2})),
            "output 'i64s': is int64_t[2], got 3 elements in 'i64s'");
  EXPECT_EQ(Why(spec<int64_t>("i64s", {Dynamic, 2})),
            "output 'i64s': is int64_t[?,2], got 3 elements in 'i64s'");
  EXPECT_EQ(Why(spec<double>("raw", {2})),
            "output 'raw': is double[2], got 1 elements in 'raw'");
  EXPECT_EQ(Why(spec<int64_t>("nodes.size", {3})),
            "output 'nodes.size': is int64_t[3], got 2 messages 'nodes'");
  EXPECT_EQ(Why(spec<float>("weights", {2, 2})),
            "output 'weights': is float[2,2], got 3 elements in a message "
            "'nodes'");
  EXPECT_EQ(Why(spec<float>("weights", {2, Dynamic})), "");
  E.mutable_nodes(1)->add_weights(1);
  EXPECT_EQ(Why(spec<float>("weights", {2, Dynamic})),
            "output 'weights': is float[2,?], got 4 elements in a message "
            "'nodes'");
  E.set_raw("123");
  EXPECT_EQ(Why(spec<int16_t>("raw", {Dynamic})),
            "output 'raw': 3 bytes are no number of int16_t");
  Messages Bools({{}, spec<bool>("raw", {Dynamic})}, Everything, Everything);
  EXPECT_EQ(Bools.decodeError(E.SerializeAsString()),
            "output 'raw': a bool that is not 0 or 1");
}

TEST(UserMessagesTest, Proto2) {
  Messages M({{spec<int64_t>("x"), spec<int32_t>("levels", {Dynamic})},
              {spec<int64_t>("y"), spec<int64_t>("z"),
               spec<int64_t>("levels", {Dynamic}), spec<std::string>("text")}},
             "cbridge.old.Needs", "cbridge.old.Gives");
  fill<int64_t>(M.Features, 0, {}, {4});
  fill<int32_t>(M.Features, 1, {2}, {5, 1});
  auto Sent = M.sent<old::Needs>(); // parses: the reward is there
  EXPECT_EQ(Sent.x(), 4);
  EXPECT_EQ(Sent.levels(0), old::HIGH);
  EXPECT_EQ(Sent.reward(), 0);
  // The end has what is required, too.
  EXPECT_EQ(M.sent<old::Needs>({}, /*End=*/true).x(), 0);

  old::Gives G;
  G.set_y(1);
  G.set_text("t");
  EXPECT_EQ(M.decodeError(G.SerializeAsString()),
            "output 'z': the reply has no 'z'");
  G.set_z(2);
  G.add_levels(old::LOW);
  EXPECT_EQ(M.decodeError(G.SerializeAsString()), "");
  EXPECT_EQ(M.values<int64_t>(2), std::vector<int64_t>{1});
  // Field 4, the number 3.
  EXPECT_EQ(M.decodeError(G.SerializeAsString() + "\x20\x03"),
            "output 'levels': a number that is no value of enum Level");
  // Field 5: proto2 does not look at its strings.
  EXPECT_EQ(M.decodeError(G.SerializeAsString() + "\x2a\x01\xff"),
            "output 'text': a string that is not UTF-8");
}

TEST(UserMessagesTest, WhatIsToldBeside) {
  Signature Sig({spec<int64_t>("x")}, adviceOfTest());
  Messages M(Sig, "cbridge.test.Asked", Advised);
  EXPECT_TRUE(M.M->tellsEnds());
  fill<int64_t>(M.Features, 0, {}, {9});
  Told T;
  T.Step = 3;
  T.Runner = 2;
  T.Context = "main";
  auto A = M.sent<pb::Asked>(T);
  EXPECT_EQ(A.x(), 9);
  EXPECT_EQ(A.step(), 3u);
  EXPECT_EQ(A.runner(), 2);
  EXPECT_EQ(A.context(), "main");
  EXPECT_FALSE(A.has_reward());
  EXPECT_FALSE(A.terminated());
  T.Reward = 0;
  T.Context = "\xff"; // which no string can hold
  A = M.sent<pb::Asked>(T);
  EXPECT_TRUE(A.has_reward());
  EXPECT_EQ(A.context(), "");
  T.Reward = 1.5;
  T.Truncated = true;
  A = M.sent<pb::Asked>(T, /*End=*/true);
  EXPECT_EQ(A.x(), 0);
  EXPECT_EQ(A.reward(), 1.5);
  EXPECT_FALSE(A.terminated());
  EXPECT_TRUE(A.truncated());
  T.Runner = UINT32_MAX;
  EXPECT_EQ(M.encode(T).status().message(), "'runner' cannot hold 4294967295");
}

TEST(UserMessagesTest, PlacesOfOtherTypesAreTheUsers) {
  Messages M({{spec<int64_t>("x")}, adviceOfTest()}, "cbridge.test.Odd",
             Advised);
  Told T;
  T.Step = 3;
  T.Context = "\xff";
  T.Reward = 0.5;
  T.Truncated = true;
  auto A = M.sent<pb::Odd>(T);
  EXPECT_EQ(A.step(), "");
  EXPECT_EQ(A.context(), "\xff");
  EXPECT_EQ(A.reward(), 0.5f);
  EXPECT_TRUE(A.done());
  EXPECT_EQ(A.truncated_size(), 0);
  // Who is not told a step means another one.
  EXPECT_FALSE(M.decode("\x10\x03")->Step);
  // A feature comes first.
  Messages Step({{spec<int64_t>("x"), spec<uint64_t>("step")}, adviceOfTest()},
                "cbridge.test.Asked", Advised);
  fill<uint64_t>(Step.Features, 1, {}, {77});
  EXPECT_EQ(Step.sent<pb::Asked>(T).step(), 77u);
}

TEST(UserMessagesTest, StepsOfReplies) {
  Signature Sig({spec<int64_t>("x")}, adviceOfTest());
  pb::Advised Reply;
  Reply.set_y(5);
  Messages Asking(Sig, "cbridge.test.Asked", Advised);
  Expected<Answered> A = Asking.decode(Reply.SerializeAsString());
  ASSERT_TRUE(A);
  EXPECT_EQ(A->Step, uint64_t(0));
  EXPECT_EQ(Asking.values<int64_t>(0), std::vector<int64_t>{5});
  Reply.set_step(8);
  A = Asking.decode(Reply.SerializeAsString());
  EXPECT_EQ(A->Step, uint64_t(8));
}

/// The compiler sends the response and receives the request.
TEST(UserMessagesTest, Serving) {
  Messages M({{spec<int64_t>("y")}, spec<int64_t>("x")}, Advised,
             "cbridge.test.Asked", /*Serving=*/true);
  pb::Asked Request;
  Request.set_x(4);
  Expected<Answered> A = M.decode(Request.SerializeAsString());
  ASSERT_TRUE(A) << A.status().toString();
  EXPECT_EQ(A->Step, uint64_t(0));
  EXPECT_EQ(M.To.Views[0].Data.data(), nullptr); // as it was
  Request.set_step(1);
  ASSERT_TRUE(M.decode(Request.SerializeAsString()));
  EXPECT_EQ(M.values<int64_t>(0), std::vector<int64_t>{4});
  EXPECT_EQ(M.decodeError("\x08"), "the request is no cbridge.test.Asked");
  EXPECT_FALSE(M.M->tellsEnds());
}

TEST(UserMessagesTest, HostileBytes) {
  Messages M({allKinds(), allKinds()}, Everything, Everything);
  const std::string Good = sample(3).SerializeAsString();
  for (size_t Size = 0; Size < Good.size(); ++Size)
    EXPECT_FALSE(M.decode(Good.substr(0, Size))) << Size;
  std::mt19937 Random(1);
  for (int Round = 0; Round < 20000; ++Round) {
    std::string Bad = Good;
    for (int Changes = 1 + Round % 4; Changes > 0; --Changes)
      Bad[Random() % Bad.size()] = char(Random());
    if (!M.decode(Bad))
      continue;
    for (size_t I = 0; I < M.To.Views.size(); ++I)
      EXPECT_TRUE((*M.To.Specs)[I].checkExtents(M.To.Views[I].Extents).ok());
  }
  // Messages in messages in messages.
  std::string Deep;
  for (int Depth = 0; Depth < 1000; ++Depth) {
    std::string Length;
    for (size_t Size = Deep.size();; Size >>= 7) {
      Length += char((Size & 0x7f) | (Size >= 0x80 ? 0x80 : 0));
      if (Size < 0x80)
        break;
    }
    Deep.insert(0, Length.insert(0, "\x3a")); // Node.below
  }
  EXPECT_FALSE(M.decode("\xba\x01" + Deep));
}

/// Messages one behind the other are one: the last number counts, lists grow,
/// messages are merged.
TEST(UserMessagesTest, MergedAsGeneratedClassesDo) {
  std::vector<TensorSpec> Specs;
  for (const TensorSpec &Each : allKinds()) {
    std::vector<int64_t> Shape(Each.shape().begin(), Each.shape().end());
    if (Each.name().back() == 's' && !Shape.empty())
      Shape[0] = Dynamic;
    Specs.emplace_back(Each.name(), Each.type(), Shape);
  }
  Messages M({Specs, Specs}, Everything, Everything);
  for (int First : {0, 1, 3})
    for (int Second : {0, 2}) {
      pb::Everything Other = sample(Second);
      Other.set_i32(0); // is not written, and changes nothing
      Other.set_text("second");
      Other.mutable_callee()->clear_size();
      Other.mutable_caller()->set_size(77);
      std::string Bytes =
          sample(First).SerializeAsString() + Other.SerializeAsString();
      pb::Everything Merged;
      ASSERT_TRUE(Merged.ParseFromString(Bytes));
      ASSERT_EQ(M.decodeError(Bytes), "");
      for (size_t I = 0; I < Specs.size(); ++I)
        ASSERT_TRUE(M.Features.assign(I, M.To.Views[I]).ok());
      EXPECT_EQ(M.sent<pb::Everything>().SerializeAsString(),
                Merged.SerializeAsString());
    }
}

TEST(UserMessagesTest, TheLastOfAOneofCounts) {
  pb::Everything Left, Right, Other;
  Left.set_left(1);
  Right.set_right(2);
  Other.mutable_other()->set_within(3);
  const std::string L = Left.SerializeAsString(), R = Right.SerializeAsString(),
                    O = Other.SerializeAsString();
  Messages M({{}, spec<int64_t>("left")}, Everything, Everything);
  EXPECT_EQ(M.decodeError(R + L), "");
  EXPECT_EQ(M.values<int64_t>(0), std::vector<int64_t>{1});
  EXPECT_EQ(M.decodeError(L + R), "output 'left': the reply has no 'left'");
  EXPECT_EQ(M.decodeError(L + O), "output 'left': the reply has no 'left'");
  EXPECT_EQ(M.decodeError(L + O + L), "");
  Messages W({{}, spec<int64_t>("within")}, Everything, Everything);
  EXPECT_EQ(W.decodeError(L + O), "");
  EXPECT_EQ(W.values<int64_t>(0), std::vector<int64_t>{3});
  EXPECT_EQ(W.decodeError(O + L),
            "output 'within': the reply has no 'other.within'");
}

/// Readers take lists packed or not, whatever the .proto says, and skip what
/// they do not know.
TEST(UserMessagesTest, OtherWaysToWriteTheSame) {
  Messages M({{}, {spec<int64_t>("i32s", {Dynamic}), spec<int64_t>("i64")}},
             Everything, Everything);
  // i32s: 7, then packed 8 and -1; i64: as bytes, which it is not.
  EXPECT_EQ(M.decodeError("\x60\x07\x62\x0b\x08\xff\xff\xff\xff\xff\xff\xff"
                          "\xff\xff\x01\x1a\x01x"),
            "");
  EXPECT_EQ(M.values<int64_t>(0), (std::vector<int64_t>{7, 8, -1}));
  EXPECT_EQ(M.values<int64_t>(1), std::vector<int64_t>{0});
  // Groups 100 in 100, and i64 = -1 behind them.
  const std::string Begin = "\xa3\x06", End = "\xa4\x06", I64 = "\x18\x01";
  EXPECT_EQ(M.decodeError(Begin + "\x08\x01" + Begin + End + End + I64), "");
  EXPECT_EQ(M.values<int64_t>(1), std::vector<int64_t>{-1});
  for (const std::string &Bad :
       {Begin, Begin + I64, End, Begin + "\xac\x06", End + End})
    EXPECT_NE(M.decodeError(Bad), "");
  std::string Deep;
  for (int Depth = 0; Depth < 200; ++Depth)
    Deep += Begin;
  EXPECT_NE(M.decodeError(Deep), "");
}
