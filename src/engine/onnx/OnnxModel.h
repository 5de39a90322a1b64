//===- OnnxModel.h - An ONNX file opened on a signature ---------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_ONNXMODEL_H
#define CBRIDGE_ENGINE_ONNX_ONNXMODEL_H

#include "engine/SignatureFit.h"
#include "engine/onnx/OnnxFile.h"
#include "engine/onnx/OrtLibrary.h"
#include "os/ReadFile.h"

#include <memory>
#include <vector>

namespace cbridge::onnx {

struct OnnxOptions {
  int Threads = 1;
  /// Libraries with operators of the user's.
  std::vector<std::string> CustomOps;
};

/// An ONNX file opened on the signature of a pass: one session for all threads.
class OnnxModel {
public:
  /// The messages name the file.
  static Expected<std::shared_ptr<const OnnxModel>>
  open(const std::string &File, const Signature &Pass,
       const OnnxOptions &Options);
  /// What its metadata says that it takes and gives, or else its graph. Where
  /// that is plain no session is made: a model that ONNX Runtime would refuse
  /// may have a signature.
  static Expected<Signature> signatureOf(const std::string &File,
                                         const OnnxOptions &Options);

  const OrtLibrary &ort() const { return Ort; }
  OrtSession *session() const { return Session.get(); }
  const OrtMemoryInfo *memory() const { return Memory.get(); }
  const std::string &file() const { return File; }
  const Signature &pass() const { return Pass; }
  /// What the graph has; a tensor of any rank appears as the pass has it.
  const Signature &graph() const { return Graph; }
  const SignatureFit &fit() const { return Fit; }

private:
  OnnxModel(const OrtLibrary &Ort, std::string File, Signature Pass)
      : Ort(Ort), File(std::move(File)), Pass(std::move(Pass)) {}
  struct Content {
    os::FileContent Whole;
    OnnxFile About;
  };
  static Expected<Content> read(const std::string &File);
  static Expected<std::shared_ptr<OnnxModel>> make(const std::string &File,
                                                   const Content &Of,
                                                   const Signature &Pass,
                                                   const OnnxOptions &Options);
  Status load(Bytes Whole, const OnnxFile &About, const OnnxOptions &Options);
  Expected<OrtOwned<OrtSessionOptions>> sessionOptions(const OnnxFile &About,
                                                       const OnnxOptions &O);
  Status describe(const OnnxFile &About);

  const OrtLibrary &Ort;
  const std::string File;
  const Signature Pass;
  OrtOwned<OrtSession> Session;
  OrtOwned<OrtMemoryInfo> Memory;
  Signature Graph;
  SignatureFit Fit;
};

} // namespace cbridge::onnx

#endif // CBRIDGE_ENGINE_ONNX_ONNXMODEL_H
