//===- OrtLibrary.cpp - ONNX Runtime, loaded on demand --------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/OrtLibrary.h"

#include "engine/onnx/PythonPackage.h"
#include "os/Library.h"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace cbridge::onnx {

static Status unusable(const std::string &File, const std::string &Why) {
  return Status::error(StatusCode::Unsupported,
                       "ONNX Runtime in " + File + ": " + Why);
}

/// The minor version in "1.31.1"; later majors count as new enough.
static unsigned minorVersion(std::string_view Version) {
  unsigned Major = 0, Minor = 0;
  const char *End = Version.data() + Version.size();
  auto [Dot, Error] = std::from_chars(Version.data(), End, Major);
  if (Error != std::errc() || Dot == End || *Dot != '.')
    return 0;
  std::from_chars(Dot + 1, End, Minor);
  return Major > 1 ? ORT_API_VERSION : Major == 1 ? Minor : 0;
}

static void ORT_API_CALL dropLine(void *, OrtLoggingLevel, const char *,
                                  const char *, const char *, const char *) {}

Expected<const OrtLibrary *> OrtLibrary::load(const std::string &File) {
  // As soon as it is loaded it writes a database of events to the user's cache
  // folder, unless it was told not to before.
  if (const char *Set = std::getenv("ORT_DISABLE_TELEMETRY");
      !Set || std::string_view(Set) != "1")
    ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  Expected<void *> Loaded = os::loadLibrary(File);
  if (!Loaded)
    return unusable(File, Loaded.status().message());
  auto *Base = reinterpret_cast<decltype(&OrtGetApiBase)>(
      os::librarySymbol(*Loaded, "OrtGetApiBase"));
  if (!Base)
    return unusable(File, "it does not export OrtGetApiBase");
  std::unique_ptr<OrtLibrary> Made(new OrtLibrary);
  Made->Version = Base()->GetVersionString();
  // Asking for an API that it does not have would make it print.
  if (minorVersion(Made->Version) < OrtApiNeeded)
    return unusable(File, "version " + Made->Version + " is too old; 1." +
                              std::to_string(OrtApiNeeded) +
                              " or later is needed");
  Made->Api = Base()->GetApi(OrtApiNeeded);
  if (!Made->Api)
    return unusable(File, "version " + Made->Version + " has no API version " +
                              std::to_string(OrtApiNeeded));
  if (Status S = Made->check(Made->Api->CreateEnvWithCustomLogger(
          dropLine, nullptr, ORT_LOGGING_LEVEL_FATAL, "cbridge", &Made->Env));
      !S)
    return unusable(File, S.message());
  if (Status S = Made->check(Made->Api->DisableTelemetryEvents(Made->Env)); !S)
    return unusable(File, S.message());
  return Made.release();
}

Status OrtLibrary::check(OrtStatus *S) const {
  if (!S)
    return Status();
  OrtErrorCode Code = Api->GetErrorCode(S);
  std::string_view Text = Api->GetErrorMessage(S);
  constexpr size_t Longest = 400;
  // Some begin with where in its sources it happened: "/x/y.cc:1 void f(int) ".
  if (size_t End = Text.find(") ");
      Text.substr(0, 1) == "/" && End != Text.npos)
    Text.remove_prefix(End + 2);
  std::string Line(Text.substr(0, std::min(Text.find('\n'), Longest)));
  Api->ReleaseStatus(S);
  return Status::error(Code == ORT_INVALID_ARGUMENT ? StatusCode::ShapeMismatch
                                                    : StatusCode::ModelError,
                       std::move(Line));
}

Expected<const OrtLibrary *> OrtLibrary::get() {
  static std::mutex Using;
  static const OrtLibrary *Only = nullptr;
  std::lock_guard<std::mutex> Lock(Using);
  if (Only)
    return Only;
  const char *Given = ::secure_getenv("CBRIDGE_ONNXRUNTIME");
  std::vector<std::string> Files;
  if (Given && *Given)
    Files = {Given};
  else {
    Files = {"libonnxruntime.so.1", "libonnxruntime.so"};
    for (std::string &File : pythonOrtFiles())
      Files.push_back(std::move(File));
  }
  std::string TooBad;
  for (const std::string &File : Files) {
    Expected<const OrtLibrary *> Loaded = load(File);
    if (Loaded)
      return Only = *Loaded;
    // That the loader does not know a name is the usual case.
    if (File.find('/') != File.npos || (Given && *Given))
      TooBad += Loaded.status().message() + "; ";
  }
  if (Given && *Given)
    return Status::error(StatusCode::Unsupported,
                         TooBad + "CBRIDGE_ONNXRUNTIME names it");
  return Status::error(
      StatusCode::Unsupported,
      TooBad + "there is no ONNX Runtime: name its library in "
               "CBRIDGE_ONNXRUNTIME, install libonnxruntime.so where the "
               "loader finds it, or 'pip install onnxruntime'");
}

} // namespace cbridge::onnx
