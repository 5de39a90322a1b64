//===- UserProto.h - The test's own .proto files ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_USERPROTO_H
#define CBRIDGE_MODULES_GRPC_PROTO_USERPROTO_H

#include "modules/grpc/proto/UserMessages.h"

#include <gtest/gtest.h>

namespace cbridge {

/// The files of tests/proto.
inline std::shared_ptr<const ProtoFile> testProtos() {
  Expected<std::shared_ptr<const ProtoFile>> File =
      ProtoFile::read(CBRIDGE_TEST_DESCRIPTOR);
  EXPECT_TRUE(File) << File.status().toString();
  return File ? *File : nullptr;
}

inline Expected<std::shared_ptr<const UserBinding>>
bindTest(const Signature &Sig, const std::string &Sent,
         const std::string &Received, bool Serving = false) {
  std::shared_ptr<const ProtoFile> File = testProtos();
  const auto *Out = File->message(Sent);
  const auto *In = File->message(Received);
  EXPECT_TRUE(Out && In);
  return UserBinding::make(File, Out, In, Sig, Serving);
}

/// One output that always fits: Advised.y.
inline TensorSpec adviceOfTest() { return TensorSpec::create<int64_t>("y"); }

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_USERPROTO_H
