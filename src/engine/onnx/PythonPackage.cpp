//===- PythonPackage.cpp - The library of a Python package ----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine/onnx/PythonPackage.h"

#include "os/Folder.h"
#include "os/Library.h"

#include <cstdlib>

namespace cbridge::onnx {

static bool startsWith(const std::string &Text, const char *Start) {
  return Text.rfind(Start, 0) == 0;
}

/// Calls Found with the full path of each entry of Folder that starts so.
template <typename Callable>
static void forEach(const std::string &Folder, const char *Start,
                    Callable Found) {
  if (Expected<std::vector<std::string>> Names = os::listFolder(Folder))
    for (const std::string &Name : *Names)
      if (startsWith(Name, Start))
        Found(std::string(Folder).append("/").append(Name));
}

std::vector<std::string> pythonOrtFiles() {
  std::vector<std::string> Sites, Files;
  if (std::string Own = os::ownFolder(); !Own.empty())
    Sites = {Own + "..", Own + "../.."}; // of _core, of lib/ and bin/
  auto AddLibrary = [&](const std::string &Lib) {
    forEach(Lib, "python3", [&](const std::string &Python) {
      Sites.push_back(Python + "/site-packages");
      Sites.push_back(Python + "/dist-packages");
    });
  };
  for (const char *Variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char *Prefix = ::secure_getenv(Variable); Prefix && *Prefix)
      AddLibrary(std::string(Prefix) + "/lib");
  if (const char *Home = ::secure_getenv("HOME"); Home && *Home)
    AddLibrary(std::string(Home) + "/.local/lib");
  AddLibrary("/usr/local/lib");
  AddLibrary("/usr/lib");
  for (const std::string &Site : Sites)
    forEach(Site + "/onnxruntime/capi", "libonnxruntime.so",
            [&](const std::string &File) { Files.push_back(File); });
  return Files;
}

} // namespace cbridge::onnx
