//===- TfliteLibrary.h - TFLite's C API -------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_TFLITE_TFLITELIBRARY_H
#define CBRIDGE_ENGINE_TFLITE_TFLITELIBRARY_H

#include <cbridge/Expected.h>

#include <cstdarg>
#include <cstdint>
#include <string>

namespace cbridge {

// What TFLite gives handles on. Its headers come with its sources alone.
struct TfLiteModel;
struct TfLiteInterpreter;
struct TfLiteInterpreterOptions;
struct TfLiteTensor;
struct TfLiteIntArray {
  int Size;
  int Data[1];
};

/// The part of TFLite's C API that we use, by the names that follow `TfLite`.
/// Functions that can fail return 0 for success.
struct TfliteLibrary {
  using Reporter = void (*)(void *User, const char *Format, va_list Arguments);

  TfLiteModel *(*ModelCreateWithErrorReporter)(const void *Data, size_t Size,
                                               Reporter Tell, void *User);
  void (*ModelDelete)(TfLiteModel *);
  TfLiteInterpreterOptions *(*InterpreterOptionsCreate)();
  void (*InterpreterOptionsDelete)(TfLiteInterpreterOptions *);
  void (*InterpreterOptionsSetNumThreads)(TfLiteInterpreterOptions *, int32_t);
  void (*InterpreterOptionsSetErrorReporter)(TfLiteInterpreterOptions *,
                                             Reporter Tell, void *User);
  TfLiteInterpreter *(*InterpreterCreate)(const TfLiteModel *,
                                          const TfLiteInterpreterOptions *);
  void (*InterpreterDelete)(TfLiteInterpreter *);
  int32_t (*InterpreterGetInputTensorCount)(const TfLiteInterpreter *);
  TfLiteTensor *(*InterpreterGetInputTensor)(const TfLiteInterpreter *,
                                             int32_t);
  int (*InterpreterResizeInputTensor)(TfLiteInterpreter *, int32_t,
                                      const int *Extents, int32_t Rank);
  int (*InterpreterAllocateTensors)(TfLiteInterpreter *);
  int (*InterpreterInvoke)(TfLiteInterpreter *);
  int32_t (*InterpreterGetOutputTensorCount)(const TfLiteInterpreter *);
  const TfLiteTensor *(*InterpreterGetOutputTensor)(const TfLiteInterpreter *,
                                                    int32_t);
  int (*TensorType)(const TfLiteTensor *);
  int32_t (*TensorNumDims)(const TfLiteTensor *);
  int32_t (*TensorDim)(const TfLiteTensor *, int32_t);
  size_t (*TensorByteSize)(const TfLiteTensor *);
  void *(*TensorData)(const TfLiteTensor *);
  const char *(*TensorName)(const TfLiteTensor *);
  /// Extents with -1 where they may change. Null in old libraries.
  const TfLiteIntArray *(*TensorGetDimsSignature)(const TfLiteTensor *);

  /// The library that CBRIDGE_TFLITE names, or libtensorflowlite_c.so. Loaded
  /// when it is needed first, and never unloaded.
  static Expected<const TfliteLibrary *> get();
};

} // namespace cbridge

#endif // CBRIDGE_ENGINE_TFLITE_TFLITELIBRARY_H
