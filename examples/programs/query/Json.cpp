//===- Json.cpp - JSON documents ------------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Json.h"

#include <algorithm>
#include <cstdio>

namespace query {

const char *Json::kindName() const {
  static const char *const Names[] = {"null",   "boolean", "number",
                                      "string", "array",   "object"};
  return Names[static_cast<int>(Type)];
}

const Json &Json::at(std::string_view Key) const {
  static const Json Null;
  for (const Member &Each : members())
    if (Each.first == Key)
      return Each.second;
  return Null;
}

void Json::set(std::string Key, Json Item) {
  for (Member &Each : Members)
    if (Each.first == Key) {
      Each.second = std::move(Item);
      return;
    }
  Members.emplace_back(std::move(Key), std::move(Item));
}

template <typename T> static int threeWay(const T &A, const T &B) {
  return A < B ? -1 : B < A;
}

static int compareMembers(const Json::Member &A, const Json::Member &B) {
  int Order = A.first.compare(B.first);
  return Order ? Order : Json::compare(A.second, B.second);
}

template <typename T, typename Function>
static int compareAll(const std::vector<T> &A, const std::vector<T> &B,
                      Function Compare) {
  for (size_t I = 0; I < A.size() && I < B.size(); ++I)
    if (int Order = Compare(A[I], B[I]))
      return Order;
  return threeWay(A.size(), B.size());
}

int Json::compare(const Json &A, const Json &B) {
  if (A.Type != B.Type)
    return threeWay(A.Type, B.Type);
  switch (A.Type) {
  case Kind::Null:
    return 0;
  case Kind::Bool:
  case Kind::Number:
    return threeWay(A.Number, B.Number);
  case Kind::String:
    return A.Text.compare(B.Text);
  case Kind::Array:
    return compareAll(A.Items, B.Items, compare);
  case Kind::Object:
    return compareAll(A.Members, B.Members, compareMembers);
  }
  return 0;
}

static void printNumber(std::string &Out, double Number) {
  char Buffer[32];
  std::snprintf(Buffer, sizeof(Buffer), "%.12g", Number);
  Out += Buffer;
}

static void printText(std::string &Out, const std::string &Text) {
  Out += '"';
  for (char C : Text) {
    if (C == '"' || C == '\\')
      Out += '\\';
    if (static_cast<unsigned char>(C) >= 0x20) {
      Out += C;
      continue;
    }
    char Buffer[8];
    std::snprintf(Buffer, sizeof(Buffer), "\\u%04x", C);
    Out += C == '\n' ? "\\n" : C == '\t' ? "\\t" : Buffer;
  }
  Out += '"';
}

static void newLine(std::string &Out, bool Indented, int Level) {
  if (!Indented)
    return;
  Out += '\n';
  Out.append(2 * static_cast<size_t>(Level), ' ');
}

template <typename T, typename Function>
static void printAll(std::string &Out, const char *Brackets,
                     const std::vector<T> &Parts, bool Indented, int Level,
                     Function PrintPart) {
  Out += Brackets[0];
  const char *Separator = "";
  for (const T &Part : Parts) {
    Out += Separator;
    Separator = Indented ? "," : ", ";
    newLine(Out, Indented, Level + 1);
    PrintPart(Part);
  }
  if (!Parts.empty())
    newLine(Out, Indented, Level);
  Out += Brackets[1];
}

void Json::print(std::string &Out, bool Indented, int Level) const {
  switch (Type) {
  case Kind::Null:
    Out += "null";
    break;
  case Kind::Bool:
    Out += Number != 0 ? "true" : "false";
    break;
  case Kind::Number:
    printNumber(Out, Number);
    break;
  case Kind::String:
    printText(Out, Text);
    break;
  case Kind::Array:
    printAll(Out, "[]", Items, Indented, Level,
             [&](const Json &Item) { Item.print(Out, Indented, Level + 1); });
    break;
  case Kind::Object:
    printAll(Out, "{}", Members, Indented, Level, [&](const Member &Each) {
      printText(Out, Each.first);
      Out += ": ";
      Each.second.print(Out, Indented, Level + 1);
    });
    break;
  }
}

std::string Json::str(bool Indented) const {
  std::string Result;
  print(Result, Indented, 0);
  return Result;
}

} // namespace query
