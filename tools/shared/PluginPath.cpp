//===- PluginPath.cpp - Where the plugins for compilers are ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PluginPath.h"

#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace cbridge::tool {

namespace {

constexpr char LlvmPlugin[] = "CompilerBridgePasses.so";

std::string resolved(const std::string &Path) {
  std::unique_ptr<char, void (*)(void *)> Real(
      ::realpath(Path.c_str(), nullptr), std::free);
  return Real ? Real.get() : "";
}

/// The folder of libraries as it was installed, seen from bin/.
std::string libraries() {
  std::string Installed = CBRIDGE_LIBDIR;
  return Installed[0] == '/' ? Installed : programFolder() + "../" + Installed;
}

std::vector<std::string> places() {
  std::vector<std::string> List;
  if (std::string Own = programFolder(); !Own.empty()) {
    List.push_back(libraries() + "/compiler-bridge");
    if (std::string_view(CBRIDGE_LIBDIR) != "lib")
      List.push_back(Own + "../lib/compiler-bridge");
    List.push_back(Own + "../../lib/compiler-bridge"); // build/X/tools/NAME/
    List.push_back(Own + "../lib"); // bin/ and lib/ of a Python package
  }
  const char *Given = ::secure_getenv("CBRIDGE_MODULE_PATH");
  for (std::string_view Rest = Given ? Given : ""; !Rest.empty();) {
    size_t End = std::min(Rest.find(':'), Rest.size());
    if (Rest[0] == '/')
      List.emplace_back(Rest.substr(0, End));
    Rest.remove_prefix(std::min(End + 1, Rest.size()));
  }
  return List;
}

} // namespace

std::string programFolder() {
  std::string Path = resolved("/proc/self/exe");
  return Path.substr(0, Path.rfind('/') + 1);
}

Expected<std::string> findLlvmPlugin() {
  std::string Looked;
  for (const std::string &Place : places()) {
    std::string Path = resolved(Place + "/" + LlvmPlugin);
    if (!Path.empty() && ::access(Path.c_str(), R_OK) == 0)
      return Path;
    Looked += (Looked.empty() ? "" : ", ") + Place;
  }
  return Status::error(StatusCode::Unavailable, "there is no " +
                                                    std::string(LlvmPlugin) +
                                                    " in " + Looked);
}

Expected<std::string> findCMakePackage() {
  std::string Own = programFolder() + "../lib"; // of a Python package, too
  for (const std::string &Place : {libraries(), Own}) {
    std::string Folder = resolved(Place + "/cmake/CompilerBridge");
    if (!Folder.empty() &&
        ::access((Folder + "/CompilerBridgeConfig.cmake").c_str(), R_OK) == 0)
      return Folder;
  }
  return Status::error(StatusCode::Unavailable,
                       "there is no cmake/CompilerBridge in " + Own +
                           ": CompilerBridge is not installed, neither by "
                           "`pip install` nor by `cmake --install`");
}

} // namespace cbridge::tool
