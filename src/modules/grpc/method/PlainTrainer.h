//===- PlainTrainer.h - For tests: a trainer of generated code --*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_METHOD_PLAINTRAINER_H
#define CBRIDGE_MODULES_GRPC_METHOD_PLAINTRAINER_H

#include "modules/grpc/ServedModel.h"

#include <compiler_bridge.grpc.pb.h>
#include <grpcpp/create_channel.h>

#include <cstring>

namespace cbridge::test {

namespace pb = compiler_bridge::v1;

inline int64_t asNumber(const std::string &Data) {
  int64_t Number = -1;
  EXPECT_EQ(Data.size(), sizeof(Number));
  std::memcpy(&Number, Data.data(), std::min(Data.size(), sizeof(Number)));
  return Number;
}

/// A trainer that sends what it is told.
class Trainer {
public:
  explicit Trainer(const std::string &Target)
      : Stub(pb::CompilerBridge::NewStub(makeChannel(Target))) {}

  static pb::Action action(uint64_t Step, int64_t Y = 0) {
    pb::Action A;
    A.set_step(Step);
    if (Step) {
      pb::Tensor *T = A.mutable_tensors()->add_tensor();
      T->set_name("y");
      T->set_type(pb::INT64);
      T->add_shape(1);
      T->set_data(&Y, sizeof(Y));
    }
    return A;
  }
  grpc::Status call(const pb::Action &A, milliseconds Within = seconds(10)) {
    grpc::ClientContext Context;
    addToken(Context);
    Context.set_deadline(std::chrono::system_clock::now() + Within);
    Seen.Clear();
    return Stub->getObservation(&Context, A, &Seen);
  }
  /// The same as soon as no other call is under way, such as one that was just
  /// cancelled.
  grpc::Status patiently(const pb::Action &A) {
    grpc::Status S;
    do
      S = call(A);
    while (S.error_code() == grpc::StatusCode::ABORTED);
    return S;
  }
  /// A step that must work; its observation.
  const pb::Observation &step(uint64_t Step, int64_t Y = 0) {
    grpc::Status S = patiently(action(Step, Y));
    EXPECT_TRUE(S.ok()) << S.error_message();
    return Seen;
  }
  /// Decides and then goes away; what the compiler has got.
  Expected<int64_t> decide(uint64_t Step, int64_t Y,
                           std::future<Expected<int64_t>> &Asking) {
    grpc::ClientContext Context;
    addToken(Context);
    auto Calling = std::async(std::launch::async, [&] {
      pb::Observation Unseen;
      return Stub->getObservation(&Context, action(Step, Y), &Unseen);
    });
    Expected<int64_t> Decided = Asking.get();
    EXPECT_TRUE(Decided) << Decided.status().toString();
    Context.TryCancel();
    (void)Calling.get();
    return Decided;
  }
  int64_t x() const {
    EXPECT_EQ(Seen.tensors().tensor_size(), 1);
    return Seen.tensors().tensor_size()
               ? asNumber(Seen.tensors().tensor(0).data())
               : -1;
  }

  pb::Observation Seen;
  std::unique_ptr<pb::CompilerBridge::Stub> Stub;
  std::string Token;

private:
  void addToken(grpc::ClientContext &To) const {
    if (!Token.empty())
      To.AddMetadata("authorization", "Bearer " + Token);
  }
  static std::shared_ptr<grpc::Channel> makeChannel(const std::string &Target) {
    grpc::ChannelArguments Own;
    Own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(Target, grpc::InsecureChannelCredentials(),
                                     Own);
  }
};

} // namespace cbridge::test

#endif // CBRIDGE_MODULES_GRPC_METHOD_PLAINTRAINER_H
