//===- Value.h - What a script computes with --------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef SCRIPT_VALUE_H
#define SCRIPT_VALUE_H

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace script {

class Value;
class Callable;
using List = std::vector<Value>;
using Map = std::map<std::string, Value>;

/// What goes wrong while a script is read or run. A script can catch it.
class Error : public std::runtime_error {
public:
  Error(int Line, const std::string &What)
      : std::runtime_error("line " + std::to_string(Line) + ": " + What) {}
};

/// Small values are copied; lists, maps and functions are shared.
class Value {
public:
  Value() = default;
  Value(bool B) : Data(B) {}
  Value(double Number) : Data(Number) {}
  Value(std::string Text) : Data(std::move(Text)) {}
  Value(const char *Text) : Data(std::string(Text)) {}
  Value(List Items) : Data(std::make_shared<List>(std::move(Items))) {}
  Value(Map Entries) : Data(std::make_shared<Map>(std::move(Entries))) {}
  Value(std::shared_ptr<Callable> Function) : Data(std::move(Function)) {}

  template <typename T> bool is() const {
    return std::holds_alternative<T>(Data);
  }
  bool isNil() const { return is<std::monostate>(); }
  bool isNumber() const { return is<double>(); }
  bool isText() const { return is<std::string>(); }
  bool isList() const { return is<std::shared_ptr<List>>(); }
  bool isMap() const { return is<std::shared_ptr<Map>>(); }
  bool isFunction() const { return is<std::shared_ptr<Callable>>(); }
  bool isTrue() const { return !isNil() && !(is<bool>() && !get<bool>()); }

  /// These throw an Error that names the kind which was wanted.
  double number(int Line) const;
  const std::string &text(int Line) const;
  List &list(int Line) const;
  Map &map(int Line) const;
  Callable &function(int Line) const;

  const char *kind() const;
  /// As print shows it; texts in lists and maps are quoted.
  std::string str(bool Quoted = false) const;
  bool operator==(const Value &Other) const { return Data == Other.Data; }
  bool operator!=(const Value &Other) const { return !(*this == Other); }

private:
  template <typename T> const T &get() const { return std::get<T>(Data); }
  template <typename T> const T &want(const char *Kind, int Line) const;

  std::variant<std::monostate, bool, double, std::string, std::shared_ptr<List>,
               std::shared_ptr<Map>, std::shared_ptr<Callable>>
      Data;
};

/// A function of the script or of the interpreter.
class Callable {
public:
  virtual ~Callable() = default;
  virtual Value call(std::vector<Value> &Arguments, int Line) = 0;
  virtual const std::string &name() const = 0;
};

} // namespace script

#endif
