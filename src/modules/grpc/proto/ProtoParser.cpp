//===- ProtoParser.cpp - Reads a descriptor set ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/ProtoParser.h"

#include <algorithm>

namespace cbridge {

using wire::Reader;

/// Messages in messages, in one file.
static constexpr unsigned MaxNesting = 64;

static std::string text(Bytes From) {
  return {reinterpret_cast<const char *>(From.data()), From.size()};
}

/// A name without dots, as protoc accepts them.
static bool isIdentifier(const std::string &Name) {
  constexpr const char Letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !Name.empty() && Name.size() < 1000 &&
         Name.find_first_not_of(Letters) == Name.npos &&
         (Name[0] < '0' || Name[0] > '9');
}

static std::string within(const std::string &Scope, const std::string &Name) {
  return Scope.empty() ? Name : Scope + "." + Name;
}

Status ProtoParser::wrong(const std::string &Why) const {
  return Status::error(StatusCode::Protocol,
                       (File.empty() ? "" : "'" + File.substr(0, 200) + "': ") +
                           Why);
}

template <typename Callable>
Status ProtoParser::forFields(Bytes In, Callable Do) {
  Reader R(In);
  while (!R.atEnd()) {
    if (!R.next())
      return wrong("is no descriptor set");
    if (Status S = Do(R); !S)
      return S;
  }
  return Status();
}

Status ProtoParser::parse(Bytes Set) {
  Status S = forFields(Set, [&](const Reader &R) {
    return R.is(1, wire::Type::Bytes) ? file(R.Content) : Status();
  });
  if (!S)
    return S;
  File.clear();
  if (Files.empty())
    return wrong("is no descriptor set");
  return resolve();
}

Status ProtoParser::file(Bytes In) {
  File.clear();
  Package.clear();
  Proto3 = false;
  std::string Missing;
  // What is at the end of it decides how the rest is meant.
  Status S = forFields(In, [&](const Reader &R) {
    if (R.is(1, wire::Type::Bytes))
      File = text(R.Content);
    else if (R.is(2, wire::Type::Bytes))
      Package = text(R.Content);
    else if (R.is(12, wire::Type::Bytes) && text(R.Content) == "proto3")
      Proto3 = true;
    else if (R.is(12, wire::Type::Bytes) && text(R.Content) != "proto2")
      return wrong("syntax " + text(R.Content).substr(0, 100) +
                   " is not known");
    else if (R.is(3, wire::Type::Bytes) && !Files.count(text(R.Content)))
      Missing = text(R.Content);
    return Status();
  });
  if (!S)
    return S;
  if (!Missing.empty())
    return wrong("imports '" + Missing.substr(0, 200) +
                 "', which is not there");
  if (File.empty() || !Files.insert(File).second)
    return wrong("is no descriptor set");
  return forFields(In, [&](const Reader &R) {
    if (R.is(4, wire::Type::Bytes))
      return message(R.Content, Package, 0);
    if (R.is(5, wire::Type::Bytes))
      return enumeration(R.Content, Package);
    return R.is(6, wire::Type::Bytes) ? service(R.Content) : Status();
  });
}

Status ProtoParser::message(Bytes In, const std::string &Scope,
                            unsigned Depth) {
  MessageType &M = To.Messages.emplace_back();
  std::string Name;
  Status S = forFields(In, [&](const Reader &R) {
    if (R.is(1, wire::Type::Bytes))
      Name = text(R.Content);
    return Status();
  });
  if (!S)
    return S;
  M.FullName = within(Scope, Name);
  if (!isIdentifier(Name) || Depth > MaxNesting ||
      !To.MessageByName.emplace(M.FullName, &M).second)
    return wrong("a message that cannot be called '" + Name.substr(0, 200) +
                 "'");
  S = forFields(In, [&](const Reader &R) -> Status {
    if (R.Kind != wire::Type::Bytes)
      return Status();
    switch (R.Field) {
    case 2:
      return field(R.Content, M);
    case 3:
      return message(R.Content, M.FullName, Depth + 1);
    case 4:
      return enumeration(R.Content, M.FullName);
    case 7: // options
      return forFields(R.Content, [&](const Reader &O) {
        if (O.is(7, wire::Type::Varint))
          M.IsMapEntry = O.Number != 0;
        return Status();
      });
    case 8: // a oneof
      M.Oneofs.emplace_back();
      return forFields(R.Content, [&](const Reader &O) {
        if (O.is(1, wire::Type::Bytes))
          M.Oneofs.back() = text(O.Content);
        return Status();
      });
    default:
      return Status();
    }
  });
  return S.ok() ? checkFields(M) : S;
}

Status ProtoParser::field(Bytes In, MessageType &Of) {
  FieldType &F = Of.Fields.emplace_back();
  uint64_t Number = 0, Label = 0, Kind = 0, Oneof = UINT64_MAX;
  bool Optional3 = false, PackedSet = false;
  Status S = forFields(In, [&](const Reader &R) -> Status {
    if (R.is(1, wire::Type::Bytes))
      F.Name = text(R.Content);
    else if (R.is(3, wire::Type::Varint))
      Number = R.Number;
    else if (R.is(4, wire::Type::Varint))
      Label = R.Number;
    else if (R.is(5, wire::Type::Varint))
      Kind = R.Number;
    else if (R.is(6, wire::Type::Bytes))
      F.TypeName = text(R.Content);
    else if (R.is(9, wire::Type::Varint))
      Oneof = R.Number;
    else if (R.is(17, wire::Type::Varint))
      Optional3 = R.Number != 0;
    else if (R.is(8, wire::Type::Bytes)) // options
      return forFields(R.Content, [&](const Reader &O) {
        if (O.is(2, wire::Type::Varint)) {
          PackedSet = true;
          F.Packed = O.Number != 0;
        }
        return Status();
      });
    return Status();
  });
  if (!S)
    return S;
  constexpr uint64_t MaxNumber = (1U << 29) - 1;
  if (!isIdentifier(F.Name) || !Number || Number > MaxNumber || !Label ||
      Label > 3 || !Kind || Kind > uint64_t(ProtoKind::SInt64))
    return wrong(Of.FullName + ": '" + F.Name.substr(0, 200) + "' is no field");
  F.Number = uint32_t(Number);
  F.Kind = ProtoKind(Kind);
  F.Repeated = Label == 3;
  F.Required = Label == 2;
  // In proto3, a oneof of its own says that an optional field is there.
  if (Oneof != UINT64_MAX && !Optional3)
    F.Oneof = int(std::min<uint64_t>(Oneof, INT32_MAX));
  bool IsMessage = F.Kind == ProtoKind::Message || F.Kind == ProtoKind::Group;
  F.Presence =
      !F.Repeated && (!Proto3 || IsMessage || Optional3 || F.Oneof >= 0);
  if (IsMessage || F.isText())
    F.Packed = false;
  else if (!PackedSet)
    F.Packed = Proto3;
  F.Packed = F.Packed && F.Repeated;
  F.Closed = F.Kind == ProtoKind::Enum && !Proto3;
  return Status();
}

Status ProtoParser::checkFields(const MessageType &M) const {
  std::set<std::string_view> Names;
  std::set<uint32_t> Numbers;
  for (const FieldType &F : M.Fields) {
    if (!Names.insert(F.Name).second || !Numbers.insert(F.Number).second)
      return wrong(M.FullName + " has two fields '" + F.Name +
                   "', or two of its number");
    if (F.Oneof >= int(M.Oneofs.size()))
      return wrong(M.FullName + ": '" + F.Name +
                   "' is in a oneof that is not there");
  }
  return Status();
}

Status ProtoParser::enumeration(Bytes In, const std::string &Scope) {
  EnumType &E = To.Enums.emplace_back();
  Status S = forFields(In, [&](const Reader &R) -> Status {
    if (R.is(1, wire::Type::Bytes))
      E.Name = text(R.Content);
    if (!R.is(2, wire::Type::Bytes))
      return Status();
    int32_t Number = 0;
    Status Value = forFields(R.Content, [&](const Reader &V) {
      if (V.is(2, wire::Type::Varint))
        Number = int32_t(V.Number);
      return Status();
    });
    E.Numbers.push_back(Number);
    return Value;
  });
  if (!S)
    return S;
  std::sort(E.Numbers.begin(), E.Numbers.end());
  E.FullName = within(Scope, E.Name);
  if (!isIdentifier(E.Name) || !To.EnumByName.emplace(E.FullName, &E).second)
    return wrong("an enum that cannot be called '" + E.Name.substr(0, 200) +
                 "'");
  return Status();
}

Status ProtoParser::service(Bytes In) {
  std::string Name;
  Status S = forFields(In, [&](const Reader &R) {
    if (R.is(1, wire::Type::Bytes))
      Name = text(R.Content);
    return Status();
  });
  if (!S)
    return S;
  if (!isIdentifier(Name))
    return wrong("a service that cannot be called '" + Name.substr(0, 200) +
                 "'");
  To.Services.push_back(within(Package, Name));
  return forFields(In, [&](const Reader &R) {
    return R.is(2, wire::Type::Bytes) ? method(R.Content, To.Services.back())
                                      : Status();
  });
}

Status ProtoParser::method(Bytes In, const std::string &Service) {
  MethodType &M = To.Methods.emplace_back();
  M.Service = Service;
  Status S = forFields(In, [&](const Reader &R) {
    if (R.is(1, wire::Type::Bytes))
      M.Name = text(R.Content);
    else if (R.is(2, wire::Type::Bytes))
      M.InputName = text(R.Content);
    else if (R.is(3, wire::Type::Bytes))
      M.OutputName = text(R.Content);
    else if (R.is(5, wire::Type::Varint))
      M.ClientStreams = R.Number != 0;
    else if (R.is(6, wire::Type::Varint))
      M.ServerStreams = R.Number != 0;
    return Status();
  });
  if (!S)
    return S;
  return isIdentifier(M.Name) ? Status()
                              : wrong("a method that cannot be called '" +
                                      M.Name.substr(0, 200) + "'");
}

/// ".a.B" is how protoc writes it.
template <typename Map>
static auto lookUp(const Map &In, const std::string &Name) ->
    typename Map::mapped_type {
  if (Name.empty() || Name[0] != '.')
    return nullptr;
  auto Found = In.find(std::string_view(Name).substr(1));
  return Found == In.end() ? nullptr : Found->second;
}

Status ProtoParser::resolve(FieldType &F, const MessageType &Of) {
  if (F.Kind == ProtoKind::Enum)
    F.Enum = lookUp(To.EnumByName, F.TypeName);
  else if (F.Kind == ProtoKind::Message || F.Kind == ProtoKind::Group)
    F.Message = lookUp(To.MessageByName, F.TypeName);
  else
    return Status();
  return F.Enum || F.Message
             ? Status()
             : wrong(Of.FullName + "." + F.Name + ": there is no '" +
                     F.TypeName.substr(0, 200) + "'");
}

Status ProtoParser::resolve() {
  for (MessageType &M : To.Messages)
    for (FieldType &F : M.Fields)
      if (Status S = resolve(F, M); !S)
        return S;
  for (MethodType &M : To.Methods) {
    M.Input = lookUp(To.MessageByName, M.InputName);
    M.Output = lookUp(To.MessageByName, M.OutputName);
    if (!M.Input || !M.Output)
      return wrong(M.fullName() + ": its messages are not there");
  }
  return Status();
}

} // namespace cbridge
