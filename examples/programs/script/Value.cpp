//===- Value.cpp - What a script computes with ----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Value.h"

#include <cstdio>

namespace script {

const char *Value::kind() const {
  static const char *const Kinds[] = {"nil",  "bool", "number",  "text",
                                      "list", "map",  "function"};
  return Kinds[Data.index()];
}

template <typename T> const T &Value::want(const char *Kind, int Line) const {
  if (const T *Found = std::get_if<T>(&Data))
    return *Found;
  throw Error(Line, std::string("this is a ") + kind() + ", not a " + Kind);
}

double Value::number(int Line) const { return want<double>("number", Line); }

const std::string &Value::text(int Line) const {
  return want<std::string>("text", Line);
}

List &Value::list(int Line) const {
  return *want<std::shared_ptr<List>>("list", Line);
}

Map &Value::map(int Line) const {
  return *want<std::shared_ptr<Map>>("map", Line);
}

Callable &Value::function(int Line) const {
  return *want<std::shared_ptr<Callable>>("function", Line);
}

static std::string numberText(double Number) {
  char Buffer[32];
  std::snprintf(Buffer, sizeof(Buffer), "%.10g", Number);
  return Buffer;
}

static std::string listText(const List &Items) {
  std::string Result = "[";
  for (const Value &Item : Items) {
    if (Result.size() > 1)
      Result += ", ";
    Result += Item.str(true);
  }
  return Result + "]";
}

static std::string mapText(const Map &Entries) {
  std::string Result = "{";
  for (const auto &[Key, Item] : Entries) {
    if (Result.size() > 1)
      Result += ", ";
    Result += Key + ": " + Item.str(true);
  }
  return Result + "}";
}

std::string Value::str(bool Quoted) const {
  if (isNil())
    return "nil";
  if (is<bool>())
    return get<bool>() ? "true" : "false";
  if (isNumber())
    return numberText(get<double>());
  if (isText())
    return Quoted ? '"' + get<std::string>() + '"' : get<std::string>();
  if (isList())
    return listText(*get<std::shared_ptr<List>>());
  if (isMap())
    return mapText(*get<std::shared_ptr<Map>>());
  return "fn " + get<std::shared_ptr<Callable>>()->name();
}

} // namespace script
