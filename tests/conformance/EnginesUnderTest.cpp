//===- EnginesUnderTest.cpp - The engines that the suite runs over --------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "EnginesUnderTest.h"

namespace cbridge::conformance {

/// What a module adds, with models in C++.
static EngineUnderTest reference() {
  EngineUnderTest E;
  E.Name = "reference";
  E.Culprit = [](const std::string &Model) { return "reference:" + Model; };
  E.Runner = [](const std::string &Model) {
    return std::optional<std::string>("reference:" + Model);
  };
  E.Library = "cbridge-reference.so";
  return E;
}

#ifdef CBRIDGE_HAS_ONNX
static std::string onnxFile(const std::string &Model) {
  return CBRIDGE_TESTS_DIR "/golden/onnx/" + Model + ".onnx";
}

static EngineUnderTest onnx() {
  EngineUnderTest E;
  E.Name = "onnx";
  E.Culprit = onnxFile;
  E.Runner = [](const std::string &Model) {
    return std::optional<std::string>("onnx:" + onnxFile(Model));
  };
  E.Library = "libonnxruntime";
  E.Describes = true;
  return E;
}
#endif

#ifdef CBRIDGE_HAS_TFLITE
static std::string tfliteFolder(const std::string &Model) {
  return CBRIDGE_TESTS_DIR "/golden/tflite/" + Model;
}

static EngineUnderTest tflite() {
  EngineUnderTest E;
  E.Name = "tflite";
  E.Culprit = [](const std::string &Model) {
    return tfliteFolder(Model) + "/model.tflite";
  };
  E.Runner = [](const std::string &Model) -> std::optional<std::string> {
    // It has strings, but a format of its own for them, which tflite: refuses.
    if (Model == "elements_string")
      return std::nullopt;
    return "tflite:" + tfliteFolder(Model);
  };
  E.Library = "tensorflowlite";
  E.Describes = true;
  return E;
}
#endif

#ifdef CBRIDGE_HAS_TF
static std::string tfFile(const std::string &Model) {
  return CBRIDGE_TF_MODELS + Model + ".so";
}

static EngineUnderTest tf() {
  EngineUnderTest E;
  E.Name = "tf";
  E.Culprit = tfFile;
  E.Runner = [](const std::string &Model) -> std::optional<std::string> {
    for (std::string_view Compiled :
         {"affine", "argmax", "identity", "multi", "not_a_number"})
      if (Model == Compiled)
        return "tf:" + tfFile(Model);
    // TensorFlow compiles neither "dynamic" and "symbolic", whose shapes vary,
    // nor strings. The others would cost seconds each, to compile.
    return std::nullopt;
  };
  E.Library = "engine_model_affine.so";
  E.Describes = true;
  return E;
}
#endif

#ifdef CBRIDGE_HAS_NATIVE
static std::string nativeFile(const std::string &Model) {
  return CBRIDGE_NATIVE_MODELS + Model + ".so";
}

static EngineUnderTest native() {
  EngineUnderTest E;
  E.Name = "native";
  E.Culprit = nativeFile;
  E.Runner = [](const std::string &Model) -> std::optional<std::string> {
    if (Model == "elements_string") // compiled models have none
      return std::nullopt;
    return "native:" + nativeFile(Model);
  };
  E.Library = "native_model_affine.so";
  E.Describes = true;
  return E;
}
#endif

const std::vector<EngineUnderTest> &enginesUnderTest() {
  static const auto *const Engines = new std::vector<EngineUnderTest>{
      reference(),
#ifdef CBRIDGE_HAS_NATIVE
      native(),
#endif
#ifdef CBRIDGE_HAS_ONNX
      onnx(),
#endif
#ifdef CBRIDGE_HAS_TFLITE
      tflite(),
#endif
#ifdef CBRIDGE_HAS_TF
      tf(),
#endif
  };
  return *Engines;
}

} // namespace cbridge::conformance
