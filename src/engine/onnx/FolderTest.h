//===- FolderTest.h - Model files of tests ----------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_ENGINE_ONNX_FOLDERTEST_H
#define CBRIDGE_ENGINE_ONNX_FOLDERTEST_H

#include "os/File.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace cbridge {

inline std::string content(const std::string &File) {
  std::ifstream In(File, std::ios::binary);
  std::ostringstream All;
  All << In.rdbuf();
  return All.str();
}

/// Has a folder for files of its own.
class FolderTest : public testing::Test {
protected:
  void SetUp() override {
    Expected<std::string> Made = os::makePrivateDirectory();
    ASSERT_TRUE(Made);
    Folder = *Made;
  }
  void TearDown() override { os::removeDirectory(Folder); }

  std::string Folder;
};

} // namespace cbridge

#endif // CBRIDGE_ENGINE_ONNX_FOLDERTEST_H
