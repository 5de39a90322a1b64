//===- ObservationMessagesTest.cpp - Compared with generated classes ------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/wire/ObservationMessages.h"

#include "channel/Handshake.h"

#include <compiler_bridge.pb.h>
#include <gtest/gtest.h>

#include <limits>

using namespace cbridge;
namespace pb = compiler_bridge::v1;

static Bytes asBytes(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

static std::string flat(const Message &M) {
  std::string All(asText(M.own()));
  for (Bytes Piece : M.lent())
    All += asText(Piece);
  return All;
}

static Signature oneNumber() {
  return {{TensorSpec::create<int64_t>("x"),
           TensorSpec::create<float>("large", {1000})},
          TensorSpec::create<int64_t>("y")};
}

class ObservationMessagesTest : public testing::Test {
protected:
  Signature Sig = oneNumber();
  Method M = getObservation(Sig);
  std::unique_ptr<MethodMessages> Messages = M.NewMessages();
  TensorStorage Features{Sig.inputs()};
  DecodedTensors Decision{
      std::make_shared<std::vector<TensorSpec>>(Sig.outputs())};

  std::string encode(const Told &Beside) {
    Message To;
    bool Over = Beside.Terminated || Beside.Truncated;
    Status S = Messages->encode(
        Over ? Span<const TensorView>() : Features.views(), Beside, To);
    EXPECT_TRUE(S.ok()) << S.toString();
    return flat(To);
  }
  Expected<Answered> decode(const pb::Action &A) {
    Sent = A.SerializeAsString();
    return Messages->decode(asBytes(Sent), Decision);
  }
  static pb::Action right(uint64_t Step, int64_t Y) {
    pb::Action A;
    A.set_step(Step);
    pb::Tensor *T = A.mutable_tensors()->add_tensor();
    T->set_name("y");
    T->set_type(pb::INT64);
    T->add_shape(1);
    T->set_data(&Y, sizeof(Y));
    return A;
  }
  std::string Sent;
};

TEST_F(ObservationMessagesTest, GeneratedClassesReadWhatWeWrite) {
  int64_t X = 42;
  std::memcpy(Features.bytes(0).data(), &X, sizeof(X));
  Told Beside;
  Beside.Step = 300;
  Beside.Runner = 7;
  Beside.Context = "fib";
  Beside.Reward = -0.5;
  pb::Observation O;
  ASSERT_TRUE(O.ParseFromString(encode(Beside)));
  EXPECT_EQ(O.kind(), pb::REQUEST);
  EXPECT_NE(O.session(), 0u);
  EXPECT_EQ(O.sequence(), 300u);
  EXPECT_EQ(O.runner(), 7u);
  EXPECT_EQ(O.reward(), -0.5);
  EXPECT_EQ(O.context(), "fib");
  EXPECT_EQ(O.signature(), "");
  ASSERT_EQ(O.tensors().tensor_size(), 2);
  EXPECT_EQ(std::memcmp(O.tensors().tensor(0).data().data(), &X, sizeof(X)), 0);
  EXPECT_EQ(O.tensors().tensor(1).data().size(), 4000u);

  // The messages of one model are of one session, and begin like this.
  uint64_t Session = O.session();
  Messages = M.NewMessages();
  ASSERT_TRUE(O.ParseFromString(encode(Told()) + M.Introduction));
  EXPECT_EQ(O.session(), Session);
  EXPECT_FALSE(O.has_reward());
  EXPECT_EQ(O.signature(), (Hello{"protobuf", Sig}.encode()));
  EXPECT_EQ(O.tensors().tensor_size(), 2);

  for (bool Truncated : {false, true}) {
    Beside.Truncated = Truncated;
    Beside.Terminated = !Truncated;
    ASSERT_TRUE(O.ParseFromString(encode(Beside)));
    EXPECT_EQ(O.kind(), pb::END);
    EXPECT_EQ(O.truncated(), Truncated);
    EXPECT_EQ(O.reward(), -0.5);
    EXPECT_FALSE(O.has_tensors());
  }
}

TEST_F(ObservationMessagesTest, ATrainerOfOursReadsWhatWeWrite) {
  Told Beside;
  Beside.Step = 3;
  Beside.Runner = 2;
  Beside.Context = "fib";
  Beside.Reward = 2;
  std::string All = encode(Beside) + M.Introduction;
  Expected<SeenObservation> O = SeenObservation::decode(asBytes(All));
  ASSERT_TRUE(O) << O.status().toString();
  EXPECT_FALSE(O->hasEnded());
  EXPECT_EQ(O->Beside.Step, 3u);
  EXPECT_EQ(O->Beside.Runner, 2u);
  EXPECT_EQ(O->Beside.Context, "fib");
  EXPECT_EQ(O->Beside.Reward, 2);
  Expected<Hello> H = Hello::decode(O->Hello);
  ASSERT_TRUE(H) << H.status().toString();
  EXPECT_EQ(H->Sig, Sig);
  ProtobufSerializer With;
  DecodedTensors Read(std::make_shared<std::vector<TensorSpec>>(Sig.inputs()));
  EXPECT_TRUE(With.decode(O->Tensors, Read).ok());

  Beside.Truncated = true;
  All = encode(Beside);
  O = SeenObservation::decode(asBytes(All));
  ASSERT_TRUE(O) << O.status().toString();
  EXPECT_TRUE(O->hasEnded() && O->Beside.Truncated && !O->Beside.Terminated);

  // Observations that there are not.
  pb::Observation Wrong;
  auto Refused = [&] {
    std::string Bytes = Wrong.SerializeAsString();
    return !SeenObservation::decode(asBytes(Bytes));
  };
  EXPECT_TRUE(Refused());
  Wrong.set_kind(pb::REQUEST);
  EXPECT_TRUE(Refused());
  Wrong.mutable_tensors();
  EXPECT_FALSE(Refused());
  Wrong.set_reward(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(Refused());
  Wrong.set_reward(1);
  Wrong.set_truncated(true);
  EXPECT_TRUE(Refused());
  Wrong.set_kind(pb::END);
  EXPECT_TRUE(Refused());
  Wrong.set_json("{}");
  EXPECT_TRUE(Refused());
}

TEST_F(ObservationMessagesTest, WeReadWhatGeneratedClassesWrite) {
  Expected<Answered> A = decode(right(9, 77));
  ASSERT_TRUE(A) << A.status().toString();
  EXPECT_EQ(A->Step, 9u);
  EXPECT_FALSE(A->Failure);
  EXPECT_EQ(Decision.Views[0].as<int64_t>()[0], 77);
  std::string All = right(9, 77).SerializeAsString();
  std::string Content = right(9, 77).tensors().SerializeAsString();
  EXPECT_EQ(All, beginAction(9, false, Content.size()) + Content);

  pb::Action Failed;
  Failed.set_step(1);
  Failed.set_failure("no idea");
  A = decode(Failed);
  ASSERT_TRUE(A) << A.status().toString();
  EXPECT_EQ(A->Failure, "no idea");
  EXPECT_EQ(Sent, beginAction(1, true, 7) + "no idea");

  A = decode(pb::Action());
  ASSERT_TRUE(A) << A.status().toString();
  EXPECT_EQ(A->Step, 0u);
  EXPECT_EQ(beginAction(0, false, 0), "");
}

TEST_F(ObservationMessagesTest, WrongActionsAreRefusedByName) {
  auto Why = [&](const pb::Action &A) { return decode(A).status().toString(); };
  pb::Action Wrong;
  Wrong.set_step(1);
  EXPECT_NE(Why(Wrong).find("neither tensors nor a failure"),
            std::string::npos);
  EXPECT_NE(Why(right(0, 1)).find("step 0"), std::string::npos);
  Wrong = right(1, 1);
  Wrong.mutable_tensors()->mutable_tensor(0)->set_name("z");
  EXPECT_NE(Why(Wrong).find("'z'"), std::string::npos);
  Wrong = right(1, 1);
  Wrong.mutable_tensors()->mutable_tensor(0)->set_type(pb::FLOAT);
  EXPECT_NE(Why(Wrong).find("'y'"), std::string::npos);
  Wrong = right(1, 1);
  Wrong.mutable_tensors()->mutable_tensor(0)->add_shape(3);
  EXPECT_NE(Why(Wrong).find("'y'"), std::string::npos);
  std::string Both =
      right(1, 1).SerializeAsString() + right(1, 2).SerializeAsString();
  EXPECT_FALSE(Messages->decode(asBytes(Both), Decision));
  Both = right(1, 1).SerializeAsString();
  for (size_t Size = 3; Size < Both.size(); ++Size)
    EXPECT_FALSE(Messages->decode(asBytes(Both).subspan(0, Size), Decision));
}
