//===- Filter.h - Queries as functions --------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef QUERY_FILTER_H
#define QUERY_FILTER_H

#include "Json.h"

#include <functional>

namespace query {

using Sink = std::function<void(const Json &)>;
/// Sends any number of results for one input. Throws Error.
using Filter = std::function<void(const Json &, const Sink &)>;

Filter identity();
Filter constant(Json Value);
Filter member(Filter From, std::string Key);
Filter element(Filter From, Filter Place);
Filter each(Filter From);
Filter pipe(Filter First, Filter Second);
Filter both(Filter First, Filter Second);
Filter collect(Filter Items);
Filter makeObject(std::vector<std::pair<std::string, Filter>> Members);
Filter binary(const std::string &Operator, Filter Left, Filter Right);
/// A function of that name and with these arguments; throws Error if there is
/// none.
Filter function(const std::string &Name, std::vector<Filter> Arguments);

Filter parseFilter(std::string_view Source);

} // namespace query

#endif
