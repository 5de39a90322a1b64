//===- ProtoParser.h - Reads a descriptor set -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_PROTOPARSER_H
#define CBRIDGE_MODULES_GRPC_PROTO_PROTOPARSER_H

#include "modules/grpc/proto/ProtoFile.h"

#include <set>

namespace cbridge {

/// Fills a ProtoFile from the bytes of a FileDescriptorSet, checking what
/// others rely on. Field numbers are those of google/protobuf/descriptor.proto.
class ProtoParser {
public:
  explicit ProtoParser(ProtoFile &To) : To(To) {}
  Status parse(Bytes Set);

private:
  /// Calls Do(Reader) for each field, until it returns a failure.
  template <typename Callable> Status forFields(Bytes In, Callable Do);
  Status file(Bytes In);
  Status message(Bytes In, const std::string &Scope, unsigned Depth);
  Status field(Bytes In, MessageType &Of);
  Status enumeration(Bytes In, const std::string &Scope);
  Status service(Bytes In);
  Status method(Bytes In, const std::string &Service);
  /// What names stand for.
  Status resolve();
  Status resolve(FieldType &F, const MessageType &Of);
  Status checkFields(const MessageType &M) const;
  Status wrong(const std::string &Why) const;

  ProtoFile &To;
  std::set<std::string> Files;
  std::string File, Package;
  bool Proto3 = false;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_PROTOPARSER_H
