//===- OrtLibrary.h - ONNX Runtime, loaded on demand ------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_ORTLIBRARY_H
#define CBRIDGE_ENGINE_ONNX_ORTLIBRARY_H

#include <cbridge/Expected.h>

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>

namespace cbridge::onnx {

/// The oldest API that has what we need: of ONNX Runtime 1.14.
constexpr uint32_t OrtApiNeeded = 14;

/// ONNX Runtime's functions and its environment. Loaded when a model is opened
/// and never unloaded or destroyed. It prints nothing and writes no file.
/// Thread-safe.
class OrtLibrary {
public:
  /// From CBRIDGE_ONNXRUNTIME, or where the loader finds it, or from the Python
  /// package; with none, the error names the three ways.
  static Expected<const OrtLibrary *> get();

  const OrtApi &api() const { return *Api; }
  const OrtEnv *environment() const { return Env; }
  /// "1.31.1"
  const std::string &version() const { return Version; }
  /// Takes the status; its first line is the message.
  Status check(OrtStatus *S) const;

private:
  OrtLibrary() = default;
  static Expected<const OrtLibrary *> load(const std::string &File);

  const OrtApi *Api = nullptr;
  OrtEnv *Env = nullptr;
  std::string Version;
};

/// Owns an object of ONNX Runtime's, which the table has a function for.
template <typename T> struct OrtRelease {
  void(ORT_API_CALL *Function)(T *) = nullptr;
  void operator()(T *Object) const { Function(Object); }
};
template <typename T> using OrtOwned = std::unique_ptr<T, OrtRelease<T>>;

/// Runs Make, an ONNX Runtime call without its last argument, into a new owner.
template <typename T, typename Callable>
Expected<OrtOwned<T>> ortMake(const OrtLibrary &Ort,
                              void(ORT_API_CALL *Release)(T *), Callable Make) {
  T *Made = nullptr;
  if (Status S = Ort.check(Make(&Made)); !S)
    return S;
  return OrtOwned<T>(Made, {Release});
}

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_ORTLIBRARY_H
