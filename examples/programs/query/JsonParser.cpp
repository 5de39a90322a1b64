//===- JsonParser.cpp - Reading JSON --------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Json.h"
#include "Scanner.h"

#include <algorithm>

namespace query {
namespace {

class JsonParser {
public:
  explicit JsonParser(std::string_view Source) : Input(Source) {}

  Json document() {
    Json Result = value(0);
    Input.skipBlanks();
    if (!Input.atEnd())
      fail("text after the document");
    return Result;
  }

private:
  [[noreturn]] void fail(const std::string &What) const {
    std::string_view Before = Input.consumed();
    auto Lines = std::count(Before.begin(), Before.end(), '\n');
    throw Error("line " + std::to_string(Lines + 1) + ": " + What);
  }

  void expect(char C) {
    if (!Input.accept(C))
      fail(std::string("expected '") + C + "'");
  }

  Json value(int Depth) {
    if (Depth > 100)
      fail("nested too deep");
    Input.skipBlanks();
    switch (Input.peek()) {
    case '{':
      return object(Depth);
    case '[':
      return array(Depth);
    case '"':
      return text();
    default:
      return word();
    }
  }

  std::string text() {
    std::string Result;
    if (!Input.takeText(Result))
      fail("a text is not right");
    return Result;
  }

  Json object(int Depth) {
    Json Result = Json::object();
    expect('{');
    if (Input.accept('}'))
      return Result;
    do {
      Input.skipBlanks();
      std::string Key = text();
      expect(':');
      Result.set(std::move(Key), value(Depth + 1));
    } while (Input.accept(','));
    expect('}');
    return Result;
  }

  Json array(int Depth) {
    Json Result = Json::array();
    expect('[');
    if (Input.accept(']'))
      return Result;
    do
      Result.add(value(Depth + 1));
    while (Input.accept(','));
    expect(']');
    return Result;
  }

  Json word() {
    double Number;
    if (Input.takeNumber(Number))
      return Number;
    std::string Name = Input.takeName();
    if (Name == "true" || Name == "false")
      return Name == "true";
    if (Name != "null")
      fail(Name.empty() ? "a value is missing" : "no such word: " + Name);
    return Json();
  }

  Scanner Input;
};

} // namespace

Json Json::parse(std::string_view Source) {
  return JsonParser(Source).document();
}

} // namespace query
