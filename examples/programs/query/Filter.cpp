//===- Filter.cpp - Queries as functions ----------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Filter.h"

#include <cmath>

namespace query {
namespace {

/// The first result, or null.
Json first(const Filter &From, const Json &Input) {
  Json Result;
  bool Found = false;
  From(Input, [&](const Json &Value) {
    if (!Found)
      Result = Value;
    Found = true;
  });
  return Result;
}

Json all(const Filter &From, const Json &Input) {
  Json Result = Json::array();
  From(Input, [&](const Json &Value) { Result.add(Value); });
  return Result;
}

Json add(const Json &A, const Json &B) {
  if (A.is(Json::Kind::Null))
    return B;
  if (A.is(Json::Kind::String))
    return A.text() + B.text();
  if (A.is(Json::Kind::Array)) {
    Json Result = A;
    for (const Json &Item : B.items())
      Result.add(Item);
    return Result;
  }
  if (A.is(Json::Kind::Object)) {
    Json Result = A;
    for (const Json::Member &Each : B.members())
      Result.set(Each.first, Each.second);
    return Result;
  }
  return A.number() + B.number();
}

Json divide(const Json &A, const Json &B) {
  if (B.number() == 0)
    throw Error("division by zero");
  return A.number() / B.number();
}

using Operation = Json (*)(const Json &, const Json &);

Operation operation(const std::string &Operator) {
  static const std::pair<const char *, Operation> Table[] = {
      {"+", add},
      {"/", divide},
      {"-",
       [](const Json &A, const Json &B) -> Json {
         return A.number() - B.number();
       }},
      {"*",
       [](const Json &A, const Json &B) -> Json {
         return A.number() * B.number();
       }},
      {"==", [](const Json &A, const Json &B) -> Json { return A == B; }},
      {"!=", [](const Json &A, const Json &B) -> Json { return !(A == B); }},
      {"<", [](const Json &A, const Json &B) -> Json { return A < B; }},
      {"<=", [](const Json &A, const Json &B) -> Json { return !(B < A); }},
      {">", [](const Json &A, const Json &B) -> Json { return B < A; }},
      {">=", [](const Json &A, const Json &B) -> Json { return !(A < B); }},
      {"and",
       [](const Json &A, const Json &B) -> Json {
         return A.isTrue() && B.isTrue();
       }},
      {"or",
       [](const Json &A, const Json &B) -> Json {
         return A.isTrue() || B.isTrue();
       }},
  };
  for (const auto &[Name, Run] : Table)
    if (Operator == Name)
      return Run;
  throw Error("no such operator: " + Operator);
}

Json elementOf(const Json &Array, const Json &Place) {
  if (Place.is(Json::Kind::String))
    return Array.at(Place.text());
  double At = std::floor(Place.number());
  double Size = static_cast<double>(Array.items().size());
  if (At < 0)
    At += Size;
  if (!(At >= 0 && At < Size))
    return Json();
  return Array.items()[static_cast<size_t>(At)];
}

} // namespace

Filter identity() {
  return [](const Json &Input, const Sink &Out) { Out(Input); };
}

Filter constant(Json Value) {
  return [=](const Json &, const Sink &Out) { Out(Value); };
}

Filter member(Filter From, std::string Key) {
  return [=](const Json &Input, const Sink &Out) {
    From(Input, [&](const Json &Value) {
      Out(Value.is(Json::Kind::Null) ? Value : Value.at(Key));
    });
  };
}

Filter element(Filter From, Filter Place) {
  return [=](const Json &Input, const Sink &Out) {
    Json At = first(Place, Input);
    From(Input, [&](const Json &Value) { Out(elementOf(Value, At)); });
  };
}

Filter each(Filter From) {
  return [=](const Json &Input, const Sink &Out) {
    From(Input, [&](const Json &Value) {
      if (Value.is(Json::Kind::Object)) {
        for (const Json::Member &Each : Value.members())
          Out(Each.second);
        return;
      }
      for (const Json &Item : Value.items())
        Out(Item);
    });
  };
}

Filter pipe(Filter First, Filter Second) {
  return [=](const Json &Input, const Sink &Out) {
    First(Input, [&](const Json &Value) { Second(Value, Out); });
  };
}

Filter both(Filter First, Filter Second) {
  return [=](const Json &Input, const Sink &Out) {
    First(Input, Out);
    Second(Input, Out);
  };
}

Filter collect(Filter Items) {
  return [=](const Json &Input, const Sink &Out) { Out(all(Items, Input)); };
}

Filter makeObject(std::vector<std::pair<std::string, Filter>> Members) {
  return [=](const Json &Input, const Sink &Out) {
    Json Result = Json::object();
    for (const auto &[Key, Value] : Members)
      Result.set(Key, first(Value, Input));
    Out(Result);
  };
}

Filter binary(const std::string &Operator, Filter Left, Filter Right) {
  Operation Run = operation(Operator);
  return [=](const Json &Input, const Sink &Out) {
    Json B = first(Right, Input);
    Left(Input, [&](const Json &A) { Out(Run(A, B)); });
  };
}

} // namespace query
