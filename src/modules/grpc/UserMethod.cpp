//===- UserMethod.cpp - A method of a user's own .proto -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/Methods.h"
#include "modules/grpc/UserMessages.h"

namespace cbridge {

Expected<Method> userMethod(const RunnerString &R, const Signature &Sig,
                            bool Serving) {
  std::string Path = R.option("proto");
  if (Path.empty())
    return R.errorAt("proto", "expected a file that protoc has made with "
                              "--include_imports --descriptor_set_out");
  Expected<std::shared_ptr<ProtoFile>> File = ProtoFile::read(Path);
  if (!File)
    return File.status();
  auto Found = (*File)->method(R);
  if (!Found)
    return Found.status();
  const google::protobuf::MethodDescriptor &M = **Found;
  if (M.client_streaming() != M.server_streaming())
    return R.errorAt(R.has("method") ? "method" : "proto",
                     M.full_name() + " streams in one direction only; a "
                                     "decision is one message each way, or a "
                                     "stream both ways");
  Expected<std::shared_ptr<const UserBinding>> Binding = UserBinding::make(
      *File, Serving ? M.output_type() : M.input_type(),
      Serving ? M.input_type() : M.output_type(), Sig, Serving);
  if (!Binding)
    return Binding.status();
  Method Made;
  Made.Path = "/" + M.service()->full_name() + "/" + M.name();
  Made.Streams = M.client_streaming();
  Made.Steps = (*Binding)->AnsweredStep != nullptr;
  Made.NewMessages = [Of = *Binding] {
    return std::make_unique<UserMessages>(Of);
  };
  return Made;
}

} // namespace cbridge
