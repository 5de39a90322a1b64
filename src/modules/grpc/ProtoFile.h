//===- ProtoFile.h - The descriptor set of a user's .proto ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTOFILE_H
#define CBRIDGE_MODULES_GRPC_PROTOFILE_H

#include <cbridge/Expected.h>
#include <cbridge/RunnerString.h>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

#include <memory>

namespace cbridge {

/// What `protoc --include_imports --descriptor_set_out` has written: the types
/// and methods of a .proto, in a pool of their own, so that they meet no others
/// of this program. The file comes from outside. Never moves; thread-safe.
class ProtoFile {
public:
  /// Larger files are refused.
  static constexpr size_t MaxSize = size_t(16) << 20;

  static Expected<std::shared_ptr<ProtoFile>> read(const std::string &Path);
  static Expected<std::shared_ptr<ProtoFile>> parse(std::string_view Set);

  /// The method that `service=` and `method=` of R name; a service by its full
  /// name or the last part of it. What only one method fits may be left out.
  Expected<const google::protobuf::MethodDescriptor *>
  method(const RunnerString &R) const;
  const google::protobuf::Descriptor *
  message(const std::string &FullName) const {
    return Pool.FindMessageTypeByName(FullName);
  }
  /// An empty one; must not outlive this.
  std::unique_ptr<google::protobuf::Message>
  newMessage(const google::protobuf::Descriptor *Type) const;

private:
  google::protobuf::DescriptorPool Pool;
  mutable google::protobuf::DynamicMessageFactory Factory{&Pool};
  std::vector<const google::protobuf::FileDescriptor *> Files;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTOFILE_H
