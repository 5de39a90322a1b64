//===- GrpcFloor.cpp - The least that gRPC can cost -----------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The floats as one message of bytes, in gRPC's own blocking calls. The peer is
// grpcio's, in _rtt_peer.py.
//
//===----------------------------------------------------------------------===//
#include "Floor.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

namespace bench {

namespace {

class GrpcFloor : public Floor {
public:
  GrpcFloor(const std::string &Where, bool Streams)
      : Channel(grpc::CreateChannel(Where, grpc::InsecureChannelCredentials())),
        Unary("/floor/unary", grpc::internal::RpcMethod::NORMAL_RPC, Channel) {
    if (!Streams)
      return;
    grpc::internal::RpcMethod Both(
        "/floor/stream", grpc::internal::RpcMethod::BIDI_STREAMING, Channel);
    Stream.reset(grpc::internal::ClientReaderWriterFactory<
                 grpc::ByteBuffer, grpc::ByteBuffer>::Create(Channel.get(),
                                                             Both,
                                                             &StreamContext));
  }
  ~GrpcFloor() override {
    if (!Stream)
      return;
    Stream->WritesDone();
    (void)Stream->Finish();
  }

  float ask(Span<const float> X) override {
    grpc::Slice Bytes(X.data(), X.size() * sizeof(float));
    grpc::ByteBuffer Out(&Bytes, 1), In;
    if (Stream) {
      if (!Stream->Write(Out) || !Stream->Read(&In))
        std::abort();
    } else {
      grpc::ClientContext Context;
      if (!grpc::internal::BlockingUnaryCall(Channel.get(), Unary, &Context,
                                             Out, &In)
               .ok())
        std::abort();
    }
    grpc::Slice Whole;
    float Y = 0;
    if (!In.DumpToSingleSlice(&Whole).ok() || Whole.size() != sizeof(Y))
      std::abort();
    std::memcpy(&Y, Whole.begin(), sizeof(Y));
    return Y;
  }
  void serve(Model, const std::vector<size_t> &) override {}

private:
  std::shared_ptr<grpc::Channel> Channel;
  grpc::internal::RpcMethod Unary;
  grpc::ClientContext StreamContext;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>>
      Stream;
};

} // namespace

std::unique_ptr<Floor> openGrpcFloor(const std::string &Where, bool Streams) {
  return std::make_unique<GrpcFloor>(Where, Streams);
}

} // namespace bench
