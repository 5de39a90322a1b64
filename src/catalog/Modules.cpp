//===- Modules.cpp - What lives in modules --------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "catalog/Modules.h"

#include <cstdlib>
#include <mutex>

namespace cbridge {

namespace {

/// Schemes and serializers that live in a module of another name:
/// `cbridge-MODULE.so`. What is not listed lives in one of its own name.
struct Home {
  std::string_view Name, Module;
};
constexpr Home Homes[] = {{"protobuf", "grpc"}};

} // namespace

Expected<const Module *> moduleWith(std::string_view Name,
                                    bool (*Has)(const Module &,
                                                std::string_view Name),
                                    const char *What) {
  for (const Module *Each : Module::loaded())
    if (Has(*Each, Name))
      return Each;
  std::string_view File = Name;
  for (const Home &Each : Homes)
    if (Each.Name == Name)
      File = Each.Module;
  Expected<const Module *> Found = Module::find(File);
  if (Found && !Has(**Found, Name))
    return Status::error(StatusCode::Unsupported,
                         "module " + (*Found)->file() + ": has no " + What +
                             " '" + std::string(Name) + "'");
  return Found;
}

namespace {

/// TensorFlow's library tells on stderr that it uses oneDNN as soon as it is
/// loaded, unless this is in the environment. Compiled models do not use it.
class QuietTensorFlow {
public:
  QuietTensorFlow() : Given(std::getenv(Name) != nullptr) {
    if (!Given)
      ::setenv(Name, "0", 0);
  }
  ~QuietTensorFlow() {
    if (!Given)
      ::unsetenv(Name);
  }
  QuietTensorFlow(const QuietTensorFlow &) = delete;
  QuietTensorFlow &operator=(const QuietTensorFlow &) = delete;

private:
  static constexpr const char *Name = "TF_ENABLE_ONEDNN_OPTS";
  const bool Given;
};

/// The module in a file; loads one at a time.
Expected<const Module *> loadTfModule(const std::string &File) {
  static std::mutex Loading;
  std::lock_guard<std::mutex> Lock(Loading);
  QuietTensorFlow Quiet;
  // TensorFlow has an LLVM of its own, which in a compiler must not meet the
  // compiler's.
  return Module::load(File, os::Binding::ToItself);
}

/// The runner in the module that R names.
Expected<const Scheme *> tfRunner(const RunnerString &R) {
  if (R.target().empty())
    return R.errorAtTarget(
        "expected a file that cbridge_add_tf_model has made");
  Expected<const Module *> Found = loadTfModule(R.target());
  if (!Found)
    return Found.status();
  if (const Scheme *Runner = (*Found)->runner("tf"))
    return Runner;
  return Status::error(StatusCode::Unsupported,
                       "module " + (*Found)->file() +
                           ": has no runner 'tf'; those that "
                           "cbridge_add_tf_model makes have one");
}

Expected<EngineSource> openTf(const RunnerString &R, const Signature &Sig) {
  Expected<const Scheme *> Runner = tfRunner(R);
  if (!Runner)
    return Runner.status();
  Expected<EngineSource> Opened = (*Runner)->Open(R, Sig);
  return Opened ? std::move(Opened) : Opened.status().withContext(R.target());
}

Expected<Signature> describeTf(const RunnerString &R) {
  Expected<const Scheme *> Runner = tfRunner(R);
  if (!Runner)
    return Runner.status();
  if (!(*Runner)->Describe)
    return Status::error(StatusCode::Unsupported,
                         R.target() + ": does not describe itself; it was made "
                                      "by an older cbridge_add_tf_model");
  return (*Runner)->Describe(R);
}

} // namespace

Scheme tfScheme() {
  Scheme Made{"tf",
              "tf:FILE.so evaluates a model that TensorFlow has compiled",
              {},
              openTf};
  Made.Describe = describeTf;
  return Made;
}

} // namespace cbridge
