//===- ProtoFile.cpp - The descriptor set of a user's .proto --------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/ProtoFile.h"

#include "modules/grpc/proto/ProtoParser.h"
#include "os/ReadFile.h"

#include <algorithm>

namespace cbridge {

namespace {

constexpr const char HowToMake[] =
    "; make it with protoc --include_imports --descriptor_set_out=FILE";

/// Whether a service is meant by a full name, or by the last part of it.
bool isCalled(const std::string &FullName, const std::string &Name) {
  size_t Dot = FullName.rfind('.');
  return Name == FullName ||
         (Dot != Name.npos && FullName.substr(Dot + 1) == Name);
}

} // namespace

Expected<std::shared_ptr<const ProtoFile>>
ProtoFile::read(const std::string &Path) {
  Expected<os::FileContent> All = os::readFile(Path, MaxSize);
  if (!All)
    return All.status().code() == StatusCode::OutOfMemory
               ? Status::error(StatusCode::Protocol,
                               All.status().message() + HowToMake)
               : All.status();
  auto Parsed = parse(All->bytes());
  return Parsed ? Parsed : Parsed.status().withContext(Path);
}

Expected<std::shared_ptr<const ProtoFile>> ProtoFile::parse(Bytes Set) {
  auto Made = std::make_shared<ProtoFile>();
  if (Status S = ProtoParser(*Made).parse(Set); !S)
    return Status::error(S.code(), S.message() + HowToMake);
  return std::shared_ptr<const ProtoFile>(std::move(Made));
}

const MessageType *ProtoFile::message(const std::string &FullName) const {
  auto Found = MessageByName.find(FullName);
  return Found == MessageByName.end() ? nullptr : Found->second;
}

Expected<const MethodType *> ProtoFile::method(const RunnerString &R) const {
  std::string Service = R.option("service"), Name = R.option("method");
  auto List = [](std::string &Text, const std::string &Each) {
    // Long enough for a person.
    if (Text.size() < 500)
      Text += (Text.empty() ? "" : ", ") + Each;
    else if (Text.back() != '.')
      Text += ", ...";
  };
  bool Exact =
      std::find(Services.begin(), Services.end(), Service) != Services.end();
  const MethodType *Fits = nullptr;
  size_t Fit = 0;
  std::string Others, OfService, Candidates;
  for (const std::string &Each : Services)
    List(Others, Each);
  for (const MethodType &M : Methods) {
    if (Exact ? M.Service != Service
              : !Service.empty() && !isCalled(M.Service, Service))
      continue;
    List(OfService, M.fullName());
    if (!Name.empty() && Name != M.Name)
      continue;
    List(Candidates, M.fullName());
    Fits = &M;
    ++Fit;
  }
  if (Fit == 1)
    return Fits;
  if (Others.empty())
    return R.errorAt("proto", "there is no service in it");
  if (OfService.empty())
    return R.errorAt(Service.empty() ? "proto" : "service",
                     "no method of such a service; there are " + Others);
  if (!Fit)
    return R.errorAt("method", "no such method; there are " + OfService);
  const char *Where = R.has("method")    ? "method"
                      : R.has("service") ? "service"
                                         : "proto";
  return R.errorAt(Where, "say by service= and method= which of " + Candidates);
}

const char *toString(ProtoKind Kind) {
  static constexpr const char *Names[] = {
      "",         "double",   "float",   "int64",  "uint64",
      "int32",    "fixed64",  "fixed32", "bool",   "string",
      "group",    "message",  "bytes",   "uint32", "enum",
      "sfixed32", "sfixed64", "sint32",  "sint64"};
  return Names[size_t(Kind)];
}

wire::Type wireTypeOf(ProtoKind Kind) {
  switch (Kind) {
  case ProtoKind::Double:
  case ProtoKind::Fixed64:
  case ProtoKind::SFixed64:
    return wire::Type::Fixed64;
  case ProtoKind::Float:
  case ProtoKind::Fixed32:
  case ProtoKind::SFixed32:
    return wire::Type::Fixed32;
  case ProtoKind::String:
  case ProtoKind::Bytes:
  case ProtoKind::Message:
  case ProtoKind::Group:
    return wire::Type::Bytes;
  default:
    return wire::Type::Varint;
  }
}

ElementType elementTypeOf(ProtoKind Kind) {
  switch (Kind) {
  case ProtoKind::Double:
    return ElementType::Double;
  case ProtoKind::Float:
    return ElementType::Float;
  case ProtoKind::Int64:
  case ProtoKind::SInt64:
  case ProtoKind::SFixed64:
    return ElementType::Int64;
  case ProtoKind::UInt64:
  case ProtoKind::Fixed64:
    return ElementType::UInt64;
  case ProtoKind::Int32:
  case ProtoKind::SInt32:
  case ProtoKind::SFixed32:
  case ProtoKind::Enum:
    return ElementType::Int32;
  case ProtoKind::UInt32:
  case ProtoKind::Fixed32:
    return ElementType::UInt32;
  case ProtoKind::Bool:
    return ElementType::Bool;
  case ProtoKind::String:
  case ProtoKind::Bytes:
  case ProtoKind::Message:
  case ProtoKind::Group:
    break;
  }
  return ElementType::String;
}

bool EnumType::has(int64_t Number) const {
  return std::binary_search(Numbers.begin(), Numbers.end(), Number);
}

} // namespace cbridge
