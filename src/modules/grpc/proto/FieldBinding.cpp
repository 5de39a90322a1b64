//===- FieldBinding.cpp - Which field of a message a tensor is ------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/FieldBinding.h"

#include <algorithm>
#include <map>

namespace cbridge {

namespace {

using Route = std::vector<Field>;

/// Protobuf itself reads messages up to a depth of 100.
constexpr size_t MaxDepth = 50;
/// Fields to look at for one name, so that no file makes us look for ever.
constexpr size_t MaxSteps = 100000;

/// A message that a way may lead through.
bool isPassable(Field F) {
  return F->isMessage() && !F->isMap() && !F->isGroup();
}

std::string pathOf(const Route &Way) {
  std::string Path;
  for (Field F : Way)
    Path += (Path.empty() ? "" : ".") + F->Name;
  return Path;
}

/// "repeated int64", "enum Kind".
std::string typeOf(Field F) {
  std::string Type = toString(F->Kind);
  if (F->Enum)
    Type += " " + F->Enum->Name;
  return (F->Repeated ? "repeated " : "") + Type;
}

/// All ways to fields of a name in messages below Top.
class Search {
public:
  Search(const MessageType *Top, const std::string &Name)
      : Top(Top), Name(Name) {
    visit(Top);
  }
  std::vector<Route> Found;
  size_t Steps = 0;

private:
  void visit(const MessageType *In) {
    if (Way.size() >= MaxDepth)
      return;
    for (const FieldType &Each : In->Fields) {
      Field F = &Each;
      if (++Steps >= MaxSteps)
        return;
      if (!isPassable(F) || isOnWay(F->Message))
        continue;
      Way.push_back(F);
      if (Field Leaf = F->Message->find(Name); Leaf && !Leaf->isMessage()) {
        Found.push_back(Way);
        Found.back().push_back(Leaf);
      }
      visit(F->Message);
      Way.pop_back();
    }
  }
  /// A list of nodes would be found at any depth.
  bool isOnWay(const MessageType *D) const {
    return D == Top || std::any_of(Way.begin(), Way.end(),
                                   [&](Field F) { return F->Message == D; });
  }

  const MessageType *Top;
  const std::string &Name;
  Route Way;
};

class Binder {
public:
  Binder(const MessageType *To, Direction Way, const char *What, const char *In)
      : To(To), Way(Way), What(What), In(In) {}

  Expected<FieldBinding> bind(const TensorSpec &Spec) const {
    FieldBinding B{std::string(What) + " '" + Spec.name() + "'",
                   Spec,
                   {},
                   {},
                   nullptr,
                   {},
                   nullptr,
                   In,
                   0};
    Expected<Route> Found = find(B);
    if (!Found)
      return Found.status();
    B.Path = pathOf(*Found);
    B.Leaf = Found->back();
    Found->pop_back();
    for (Field F : *Found) {
      if (F->Repeated && B.Each)
        return B.error(StatusCode::ShapeMismatch,
                       "'" + B.Path +
                           "' lies in more than one repeated "
                           "message");
      if (F->Repeated)
        B.Each = F;
      else
        (B.Each ? B.Inner : B.Outer).push_back(F);
    }
    if (Status S = checkType(B); !S)
      return S;
    if (Status S = checkShape(B); !S)
      return S;
    return B;
  }

private:
  Status mismatch(const FieldBinding &B, const std::string &Why) const {
    return B.error(StatusCode::ShapeMismatch, Why);
  }
  /// What is in the way at F, if something is.
  Status checkPassable(const FieldBinding &B, Field F) const {
    if (F->isMap())
      return mismatch(B, "'" + F->Name + "' is a map, which no tensor is");
    if (F->isGroup())
      return mismatch(B, "'" + F->Name +
                             "' is a group, which is not "
                             "supported; make it a message");
    if (!F->isMessage())
      return mismatch(B, "'" + F->Name + "' is of type " + typeOf(F) +
                             ", which has no fields");
    return Status();
  }
  Expected<Route> find(const FieldBinding &B) const;
  Status checkType(const FieldBinding &B) const;
  Status checkShape(const FieldBinding &B) const;

  const MessageType *To;
  Direction Way;
  const char *What, *In;
};

Expected<Route> Binder::find(const FieldBinding &B) const {
  const std::string &Name = B.Spec.name();
  Route Found;
  const MessageType *Here = To;
  for (size_t At = 0;;) {
    size_t Dot = Name.find('.', At);
    std::string Part = Name.substr(At, Dot - At);
    Field F = Here->find(Part);
    if (!F && Dot == Name.npos && Found.empty())
      break;
    if (!F)
      return mismatch(B, Here->FullName + " has no field '" + Part + "'");
    Found.push_back(F);
    if (Dot == Name.npos) {
      if (!F->isMessage())
        return Found;
      if (Status S = checkPassable(B, F); !S)
        return S;
      return mismatch(B, "'" + Name +
                             "' is a message; name one of its "
                             "fields, with a dot");
    }
    if (Status S = checkPassable(B, F); !S)
      return S;
    if (Found.size() >= MaxDepth)
      return mismatch(B, "lies too deep");
    Here = F->Message;
    At = Dot + 1;
  }
  Search Nested(To, Name);
  if (Nested.Steps >= MaxSteps)
    return mismatch(B, To->FullName + " has too many nested messages to "
                                      "look for it; write its path, with "
                                      "dots");
  if (Nested.Found.size() == 1)
    return Nested.Found[0];
  if (Nested.Found.empty())
    return mismatch(B, To->FullName + " has no field of that name");
  std::string Paths;
  for (const Route &Each : Nested.Found)
    if (Paths.size() < 500)
      Paths += (Paths.empty() ? "" : ", ") + pathOf(Each);
  return mismatch(B, "may be each of " + Paths + "; use the path as its name");
}

/// The type of a field for such elements.
const char *fieldTypeFor(ElementType T, Direction Way) {
  bool Sent = Way == Direction::Sent;
  switch (T) {
  case ElementType::Bool:
    return "bool";
  case ElementType::Int8:
  case ElementType::Int16:
    return Sent ? "int32" : "bytes";
  case ElementType::Int32:
    return "int32";
  case ElementType::Int64:
    return "int64";
  case ElementType::UInt8:
  case ElementType::UInt16:
    return Sent ? "uint32" : "bytes";
  case ElementType::UInt32:
    return "uint32";
  case ElementType::UInt64:
    return "uint64";
  case ElementType::Float:
    return "float";
  case ElementType::Double:
    return "double";
  case ElementType::String:
    break;
  }
  return "string";
}

Status Binder::checkType(const FieldBinding &B) const {
  ElementType Ours = B.Spec.type(), Theirs = elementTypeOf(B.Leaf->Kind);
  bool Sent = Way == Direction::Sent, Fits;
  if (B.Leaf->Kind == ProtoKind::Bytes)
    Fits = B.Spec.isString() || !B.Leaf->Repeated;
  else if (B.isEnum()) // an int64_t that is none is found out when it is sent
    Fits = Ours == ElementType::Int64 || Ours == ElementType::Int32 ||
           (Sent && fits(Ours, ElementType::Int32));
  else
    Fits = Sent ? fits(Ours, Theirs) : fits(Theirs, Ours);
  if (Fits)
    return Status();
  std::string Need = fieldTypeFor(Ours, Way);
  if (B.Leaf->Repeated && Need != "bytes")
    Need = "repeated " + Need;
  std::string Type(toString(Ours));
  return B.error(
      StatusCode::TypeMismatch,
      (Sent ? typeOf(B.Leaf) + " '" + B.Path + "' does not hold every " + Type
            : Type + " does not hold every " + typeOf(B.Leaf) + " '" + B.Path +
                  "'") +
          "; the field would need to be " + Need);
}

Status Binder::checkShape(const FieldBinding &B) const {
  const std::string Type = B.Spec.typeAndShape();
  const std::string Name = typeOf(B.Leaf) + " '" + B.Path + "'";
  if (B.Each && B.Spec.shape().empty())
    return mismatch(B, Name + " has an element for each of the repeated '" +
                           B.Each->Name + "'; " + Type + " has only one");
  Span<const int64_t> Rest = B.leafShape();
  bool Many = B.Leaf->Repeated || B.isRaw();
  if (!Many) {
    bool One = std::all_of(Rest.begin(), Rest.end(),
                           [](int64_t Extent) { return Extent == 1; });
    if (One)
      return Status();
    return mismatch(B, Name + " is one element" +
                           (B.Each ? " of each message, " : ", ") + Type +
                           " is not");
  }
  if (Rest.empty() && !B.isRaw())
    return mismatch(B, Name + " has any number of elements" +
                           (B.Each ? " in each message, " : ", ") + Type +
                           " has one");
  int64_t Inner = 1;
  for (size_t I = 1; I < Rest.size(); ++I) {
    if (Rest[I] == Dynamic)
      return mismatch(B, "only the leading extent that '" + B.Path +
                             "' holds may be dynamic, not all of " + Type);
    Inner *= Rest[I];
  }
  if (!Rest.empty() && Rest[0] == Dynamic && Inner == 0)
    return mismatch(B, "nothing would tell the leading extent of " + Type);
  return Status();
}

/// Two that cannot both be there.
Status checkPair(const FieldBinding &A, const FieldBinding &B) {
  auto Whole = [](const FieldBinding &Of) {
    Route All = Of.Outer;
    if (Of.Each)
      All.push_back(Of.Each);
    All.insert(All.end(), Of.Inner.begin(), Of.Inner.end());
    All.push_back(Of.Leaf);
    return All;
  };
  Route Left = Whole(A), Right = Whole(B);
  auto [L, R] =
      std::mismatch(Left.begin(), Left.end(), Right.begin(), Right.end());
  if (L == Left.end() || R == Right.end())
    return B.error(StatusCode::ShapeMismatch,
                   "'" + B.Path + "' is " + A.Who + " already");
  // Both are fields of the same message.
  if ((*L)->Oneof >= 0 && (*L)->Oneof == (*R)->Oneof)
    return B.error(StatusCode::ShapeMismatch,
                   "only one of '" + (*L)->Name + "' and '" + (*R)->Name +
                       "' can be there, and " + A.Who + " is it");
  return Status();
}

} // namespace

Expected<std::vector<FieldBinding>>
bindFields(const MessageType *To, const std::vector<TensorSpec> &Specs,
           Direction Way, const char *What, const char *In) {
  Binder With(To, Way, What, In);
  std::vector<FieldBinding> All;
  std::map<Route, size_t> Groups;
  for (const TensorSpec &Spec : Specs) {
    Expected<FieldBinding> B = With.bind(Spec);
    if (!B)
      return B.status();
    for (const FieldBinding &Other : All)
      if (Status S = checkPair(Other, *B); !S)
        return S;
    if (B->Each) {
      Route Key = B->Outer;
      Key.push_back(B->Each);
      B->Group = Groups.emplace(Key, Groups.size()).first->second;
    }
    All.push_back(std::move(*B));
  }
  return All;
}

} // namespace cbridge
