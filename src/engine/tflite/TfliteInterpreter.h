//===- TfliteInterpreter.h - A model and its interpreters -------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_TFLITE_TFLITEINTERPRETER_H
#define CBRIDGE_ENGINE_TFLITE_TFLITEINTERPRETER_H

#include "engine/tflite/OutputSpec.h"
#include "engine/tflite/TfliteLibrary.h"
#include "os/ReadFile.h"

#include <cbridge/Signature.h>

#include <memory>
#include <optional>

namespace cbridge {

/// What TFLite has said when something failed; it prints nothing then.
struct TfliteSaid {
  std::string Text;

  [[gnu::format(printf, 2, 0)]] static void tell(void *To, const char *Format,
                                                 va_list Arguments);
  /// `Code: File: What: ` and the text, which is forgotten.
  Status failure(StatusCode Code, const std::string &File, const char *What);
};

/// The model in a file, for all its interpreters. Thread-safe.
class TfliteModel {
public:
  static Expected<std::shared_ptr<const TfliteModel>>
  load(const std::string &File);
  ~TfliteModel();
  TfliteModel(const TfliteModel &) = delete;
  TfliteModel &operator=(const TfliteModel &) = delete;

  const TfliteLibrary &Api;
  const std::string File;
  TfLiteModel *get() const { return Handle; }

private:
  TfliteModel(const TfliteLibrary &Api, std::string File)
      : Api(Api), File(std::move(File)) {}

  std::optional<os::FileContent>
      Content; // stays where it is while Handle lives
  TfLiteModel *Handle = nullptr;
};

/// One interpreter, for one thread. No exception of TFLite's leaves it.
class TfliteInterpreter {
public:
  static Expected<std::unique_ptr<TfliteInterpreter>>
  create(std::shared_ptr<const TfliteModel> Of);
  ~TfliteInterpreter();
  TfliteInterpreter(const TfliteInterpreter &) = delete;
  TfliteInterpreter &operator=(const TfliteInterpreter &) = delete;

  /// The inputs, by the names that TFLite gives them.
  Expected<std::vector<TensorSpec>> inputs() const;
  /// The tensor of an output, which must be what the file says that it is.
  Expected<size_t> findOutput(const OutputSpec &Wanted,
                              const std::string &SpecFile) const;

  /// Gives input I, which has the rank of Extents, its extents and bytes.
  Status setExtents(size_t I, Span<const int64_t> Extents);
  Status setInput(size_t I, Bytes From);
  /// Between setting extents and inputs.
  Status allocate();
  Status invoke();
  /// After invoke. Extents are written to the front of To and counted.
  Expected<Bytes> output(size_t I, ElementType Type, int64_t (&To)[MaxRank],
                         size_t &Rank) const;

private:
  explicit TfliteInterpreter(std::shared_ptr<const TfliteModel> Of)
      : Of(std::move(Of)), Api(this->Of->Api) {}
  Expected<TensorSpec> describe(const TfLiteTensor *T, const char *Side,
                                size_t I) const;
  Status failed(StatusCode Code, const char *What) {
    return Said.failure(Code, Of->File, What);
  }

  std::shared_ptr<const TfliteModel> Of;
  const TfliteLibrary &Api;
  TfLiteInterpreter *Handle = nullptr;
  TfliteSaid Said; // Handle has its address
  bool Allocated = false;
};

} // namespace cbridge

#endif // CBRIDGE_ENGINE_TFLITE_TFLITEINTERPRETER_H
