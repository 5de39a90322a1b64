//===- UserMethod.cpp - A method of a user's own .proto -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/UserMethod.h"

#include "modules/grpc/proto/UserMessages.h"

namespace cbridge {

Expected<Method> userMethod(const RunnerString &R, const Signature &Sig,
                            bool Serving) {
  std::string Path = R.option("proto");
  if (Path.empty())
    return R.errorAt("proto", "expected a file that protoc has made with "
                              "--include_imports --descriptor_set_out");
  Expected<std::shared_ptr<const ProtoFile>> File = ProtoFile::read(Path);
  if (!File)
    return File.status();
  auto Found = (*File)->method(R);
  if (!Found)
    return Found.status();
  const MethodType &M = **Found;
  if (M.ClientStreams != M.ServerStreams)
    return R.errorAt(R.has("method") ? "method" : "proto",
                     M.fullName() + " streams in one direction only; a "
                                    "decision is one message each way, or a "
                                    "stream both ways");
  Expected<std::shared_ptr<const UserBinding>> Binding =
      UserBinding::make(*File, Serving ? M.Output : M.Input,
                        Serving ? M.Input : M.Output, Sig, Serving);
  if (!Binding)
    return Binding.status();
  Method Made;
  Made.Path = "/" + M.Service + "/" + M.Name;
  Made.Streams = M.ClientStreams;
  Made.Steps = (*Binding)->AnsweredStep != nullptr;
  Made.NewMessages = [Of = *Binding] {
    return std::make_unique<UserMessages>(Of);
  };
  return Made;
}

} // namespace cbridge
