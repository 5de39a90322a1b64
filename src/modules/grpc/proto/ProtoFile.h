//===- ProtoFile.h - The descriptor set of a user's .proto ------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_PROTOFILE_H
#define CBRIDGE_MODULES_GRPC_PROTO_PROTOFILE_H

#include "modules/grpc/proto/ProtoTypes.h"

#include <cbridge/RunnerString.h>

#include <deque>
#include <map>
#include <memory>

namespace cbridge {

/// What `protoc --include_imports --descriptor_set_out` has written: the types
/// and methods of a .proto. The file comes from outside. Does not change once
/// it is made, and its types do not move.
class ProtoFile {
public:
  /// Larger files are refused.
  static constexpr size_t MaxSize = size_t(16) << 20;

  static Expected<std::shared_ptr<const ProtoFile>>
  read(const std::string &Path);
  static Expected<std::shared_ptr<const ProtoFile>> parse(Bytes Set);

  /// The method that `service=` and `method=` of R name; a service by its full
  /// name or the last part of it. What only one method fits may be left out.
  Expected<const MethodType *> method(const RunnerString &R) const;
  /// Null if there is none.
  const MessageType *message(const std::string &FullName) const;

private:
  friend class ProtoParser;
  std::deque<MessageType> Messages;
  std::deque<EnumType> Enums;
  std::deque<MethodType> Methods;
  std::vector<std::string> Services;
  std::map<std::string, const MessageType *, std::less<>> MessageByName;
  std::map<std::string, const EnumType *, std::less<>> EnumByName;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_PROTOFILE_H
