//===- InferSide.h - What a benchmark measures in turn ----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A way to ask a model is a runner string, or `bare-ort:FILE.onnx`: ONNX
// Runtime's C API by hand, or `hand:DIR`: code written by hand for that model,
// or `copy:`, which writes the features and evaluates nothing.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_BENCH_INFERSIDE_H
#define CBRIDGE_BENCH_INFERSIDE_H

#include "InferAsker.h"

#include <functional>

namespace bench {

/// One of those that are measured in turn.
struct Side {
  std::string Name;
  std::function<std::unique_ptr<Asker>()> Make; // on the thread that asks
  bool Checked = true;
};

[[noreturn]] inline void failOpening(const std::string &Why) {
  std::fprintf(stderr, "%s\n", Why.c_str());
  std::exit(1);
}

/// Opens what all threads share; the program ends if that fails.
inline Side openSide(std::string Name, const std::string &Way,
                     const InferModel &I) {
  size_t Colon = Way.find(':');
  const std::string Kind = Way.substr(0, Colon);
  if (Kind == "bare-ort") {
#ifdef CBRIDGE_BENCH_ORT
    auto Session = std::make_shared<BareSession>(Way.substr(Colon + 1));
    return {std::move(Name),
            [Session, &I] { return std::make_unique<BareAsker>(*Session, I); }};
#else
    failOpening("built without CBRIDGE_WITH_ONNX");
#endif
  }
  if (Kind == "copy")
    return {std::move(Name), [&I] { return std::make_unique<CopyAsker>(I); },
            false};
  if (Kind == "hand") {
    const std::string Folder = Way.substr(Colon + 1);
    if (!handWritten(Folder))
      failOpening("nobody has written it by hand");
    return {std::move(Name), [Folder, &I] {
              return std::make_unique<HandAsker>(handWritten(Folder), I);
            }};
  }
  return {std::move(Name),
          [M = openModel(Way, I)] { return std::make_unique<RunnerAsker>(M); }};
}

} // namespace bench

#endif // CBRIDGE_BENCH_INFERSIDE_H
