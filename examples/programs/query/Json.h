//===- Json.h - JSON documents ----------------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef QUERY_JSON_H
#define QUERY_JSON_H

#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace query {

/// A document or query that is wrong, or does not suit the other.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class Json {
public:
  enum class Kind { Null, Bool, Number, String, Array, Object };
  using Member = std::pair<std::string, Json>;

  Json() = default;
  Json(bool B) : Type(Kind::Bool), Number(B) {}
  /// What is no number is null, as JSON has nothing else for it.
  Json(double Number)
      : Type(std::isnan(Number) ? Kind::Null : Kind::Number), Number(Number) {}
  Json(std::string Text) : Type(Kind::String), Text(std::move(Text)) {}
  static Json array() { return Json(Kind::Array); }
  static Json object() { return Json(Kind::Object); }
  /// Throws Error with the line.
  static Json parse(std::string_view Source);

  Kind kind() const { return Type; }
  const char *kindName() const;
  bool is(Kind K) const { return Type == K; }
  bool isTrue() const {
    return !is(Kind::Null) && !(is(Kind::Bool) && Number == 0);
  }

  double number() const { return want(Kind::Number, "a number").Number; }
  const std::string &text() const { return want(Kind::String, "text").Text; }
  const std::vector<Json> &items() const {
    return want(Kind::Array, "an array").Items;
  }
  const std::vector<Member> &members() const {
    return want(Kind::Object, "an object").Members;
  }
  /// The member, or null.
  const Json &at(std::string_view Key) const;
  void add(Json Item) { Items.push_back(std::move(Item)); }
  void set(std::string Key, Json Item);

  /// By kind first; then numbers by size, texts by letters, arrays and objects
  /// by their first difference.
  static int compare(const Json &A, const Json &B);
  friend bool operator<(const Json &A, const Json &B) {
    return compare(A, B) < 0;
  }
  friend bool operator==(const Json &A, const Json &B) {
    return compare(A, B) == 0;
  }

  /// On one line, or indented by two per level.
  std::string str(bool Indented) const;

private:
  explicit Json(Kind Type) : Type(Type) {}
  const Json &want(Kind K, const char *Name) const {
    if (!is(K))
      throw Error(std::string("this is ") + kindName() + ", not " + Name);
    return *this;
  }
  void print(std::string &Out, bool Indented, int Level) const;

  Kind Type = Kind::Null;
  double Number = 0;
  std::string Text;
  std::vector<Json> Items;
  std::vector<Member> Members;
};

} // namespace query

#endif
