//===- ProtoTypes.h - The types of a user's .proto --------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of a descriptor set as messages need that are written by hand. Not
// libprotobuf's: a process with another copy of that, as many trainers are,
// could not even load the module.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_PROTO_PROTOTYPES_H
#define CBRIDGE_MODULES_GRPC_PROTO_PROTOTYPES_H

#include "core/Wire.h"

#include <cbridge/TensorSpec.h>

namespace cbridge {

/// FieldDescriptorProto::Type.
enum class ProtoKind : uint8_t {
  Double = 1,
  Float = 2,
  Int64 = 3,
  UInt64 = 4,
  Int32 = 5,
  Fixed64 = 6,
  Fixed32 = 7,
  Bool = 8,
  String = 9,
  Group = 10,
  Message = 11,
  Bytes = 12,
  UInt32 = 13,
  Enum = 14,
  SFixed32 = 15,
  SFixed64 = 16,
  SInt32 = 17,
  SInt64 = 18,
};

/// "int32", "string".
const char *toString(ProtoKind Kind);
/// How one value travels.
wire::Type wireTypeOf(ProtoKind Kind);
/// What the elements are in memory; an enum's are numbers, String stands for
/// all that has none.
ElementType elementTypeOf(ProtoKind Kind);

struct EnumType {
  std::string FullName, Name;
  std::vector<int32_t> Numbers; ///< sorted
  bool has(int64_t Number) const;
};

struct MessageType;

struct FieldType {
  std::string Name;
  uint32_t Number = 0;
  ProtoKind Kind = ProtoKind::Int32;
  bool Repeated = false, Required = false, Packed = false;
  /// Messages tell whether it is there.
  bool Presence = false;
  /// Of an enum: numbers that it does not know are none of its values.
  bool Closed = false;
  int Oneof = -1;
  std::string TypeName;
  const MessageType *Message = nullptr; ///< of messages and groups
  const EnumType *Enum = nullptr;

  bool isMessage() const { return Message != nullptr; }
  bool isGroup() const { return Kind == ProtoKind::Group; }
  bool isMap() const;
  bool isText() const {
    return Kind == ProtoKind::String || Kind == ProtoKind::Bytes;
  }
};
using Field = const FieldType *;

struct MessageType {
  std::string FullName;
  std::vector<FieldType> Fields;
  std::vector<std::string> Oneofs;
  bool IsMapEntry = false;

  Field find(std::string_view Name) const {
    for (const FieldType &F : Fields)
      if (F.Name == Name)
        return &F;
    return nullptr;
  }
};

inline bool FieldType::isMap() const { return Message && Message->IsMapEntry; }

struct MethodType {
  std::string Service, Name; ///< the service's full name
  std::string InputName, OutputName;
  const MessageType *Input = nullptr, *Output = nullptr;
  bool ClientStreams = false, ServerStreams = false;
  std::string fullName() const { return Service + "." + Name; }
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_PROTO_PROTOTYPES_H
