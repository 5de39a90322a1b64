//===- TfliteLibrary.cpp - TFLite's C API ---------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/tflite/TfliteLibrary.h"

#include "os/Library.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace cbridge {

namespace {

/// The functions of one library.
class Symbols {
public:
  explicit Symbols(void *Handle) : Handle(Handle) {}

  template <typename F> void find(F *&To, const char *Name) {
    To = reinterpret_cast<F *>(os::librarySymbol(Handle, Name));
    if (!To)
      Missing += (Missing.empty() ? "" : ", ") + std::string(Name);
  }
  std::string Missing;

private:
  void *Handle;
};

/// Fills Api; gives the names of functions that are missing.
std::string fill(TfliteLibrary &Api, void *Handle) {
  Symbols S(Handle);
  S.find(Api.TensorGetDimsSignature, "TfLiteTensorGetDimsSignature");
  S.Missing.clear(); // it is optional
#define CBRIDGE_FIND(Name) S.find(Api.Name, "TfLite" #Name)
  CBRIDGE_FIND(ModelCreateWithErrorReporter);
  CBRIDGE_FIND(ModelDelete);
  CBRIDGE_FIND(InterpreterOptionsCreate);
  CBRIDGE_FIND(InterpreterOptionsDelete);
  CBRIDGE_FIND(InterpreterOptionsSetNumThreads);
  CBRIDGE_FIND(InterpreterOptionsSetErrorReporter);
  CBRIDGE_FIND(InterpreterCreate);
  CBRIDGE_FIND(InterpreterDelete);
  CBRIDGE_FIND(InterpreterGetInputTensorCount);
  CBRIDGE_FIND(InterpreterGetInputTensor);
  CBRIDGE_FIND(InterpreterResizeInputTensor);
  CBRIDGE_FIND(InterpreterAllocateTensors);
  CBRIDGE_FIND(InterpreterInvoke);
  CBRIDGE_FIND(InterpreterGetOutputTensorCount);
  CBRIDGE_FIND(InterpreterGetOutputTensor);
  CBRIDGE_FIND(TensorType);
  CBRIDGE_FIND(TensorNumDims);
  CBRIDGE_FIND(TensorDim);
  CBRIDGE_FIND(TensorByteSize);
  CBRIDGE_FIND(TensorData);
  CBRIDGE_FIND(TensorName);
#undef CBRIDGE_FIND
  return S.Missing;
}

/// The libraries of this process: one, unless somebody changes the environment.
class Libraries {
public:
  /// Never destroyed: compilers may still decide while they exit.
  static Libraries &get() {
    static auto *const Only = new Libraries;
    return *Only;
  }

  Expected<const TfliteLibrary *> load(const std::string &File, bool Named) {
    std::lock_guard<std::mutex> Lock(Using);
    for (const Entry &Each : All)
      if (Each.File == File)
        return Each.Api.get();
    Expected<void *> Handle = os::loadLibrary(File);
    if (!Handle) {
      std::string Why = File + ": " + Handle.status().message();
      return Status::error(
          StatusCode::Unavailable,
          Named ? "TFLite's library, as CBRIDGE_TFLITE has it: " + Why
                : "TFLite's library was not found (" + Why +
                      "); let CBRIDGE_TFLITE be the path of a "
                      "libtensorflowlite_c.so, or install one where the "
                      "loader looks: in a system folder, or one that "
                      "LD_LIBRARY_PATH names");
    }
    auto Api = std::make_unique<TfliteLibrary>();
    if (std::string Missing = fill(*Api, *Handle); !Missing.empty())
      return Status::error(StatusCode::Unsupported,
                           "TFLite's library " + File +
                               ": too old, or another one; it lacks " +
                               Missing);
    All.push_back({File, std::move(Api)});
    return All.back().Api.get();
  }

private:
  struct Entry {
    std::string File;
    std::unique_ptr<const TfliteLibrary> Api;
  };
  std::mutex Using;
  std::vector<Entry> All;
};

} // namespace

Expected<const TfliteLibrary *> TfliteLibrary::get() {
  const char *Named = ::secure_getenv("CBRIDGE_TFLITE");
  bool Given = Named && *Named;
  return Libraries::get().load(Given ? Named : "libtensorflowlite_c.so", Given);
}

} // namespace cbridge
