//===- LogTest.h - What tests of logs share ---------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_LOG_LOGTEST_H
#define CBRIDGE_LOG_LOGTEST_H

#include "log/TensorText.h"
#include "os/File.h"

#include <cbridge/Number.h>
#include <cbridge/TrainingLog.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace cbridge {

/// A directory for one test.
class TemporaryFolder {
public:
  TemporaryFolder() : Path(*os::makePrivateDirectory()) {}
  ~TemporaryFolder() { std::filesystem::remove_all(Path); }
  std::string operator/(const std::string &Name) const {
    return Path + "/" + Name;
  }
  const std::string Path;
};

inline std::string contentOf(const std::string &Path) {
  std::ifstream In(Path, std::ios::binary);
  EXPECT_TRUE(In) << Path;
  return {std::istreambuf_iterator<char>(In), {}};
}

inline std::string goldenLog(const std::string &Name) {
  return std::string(CBRIDGE_TESTS_DIR) + "/golden/" + Name;
}

inline Bytes bytesOf(const std::string &Text) {
  return {reinterpret_cast<const unsigned char *>(Text.data()), Text.size()};
}

/// A whole log: a line `context ordinal: features -> decision, reward` each.
struct LogText {
  std::vector<std::string> Lines;
  bool Cut = false;
  Status Failure;
};

inline LogText textOf(Expected<LogReader> Log) {
  LogText Text;
  if (!Log) {
    Text.Failure = Log.status();
    return Text;
  }
  for (;;) {
    Expected<const LogRecord *> R = Log->next();
    if (!R) {
      Text.Failure = R.status();
      return Text;
    }
    if (!*R)
      break;
    std::string Line((*R)->Context);
    Line += " " + std::to_string((*R)->Ordinal) + ":";
    for (const TensorView &V : (*R)->Features)
      Line += " " + tensorText(V);
    Line += " ->";
    for (const TensorView &V : (*R)->Decision)
      Line += " " + tensorText(V);
    Line += ", ";
    Line += (*R)->Reward ? Number(*(*R)->Reward).toString() : "?";
    Text.Lines.push_back(Line);
  }
  Text.Cut = Log->cut();
  return Text;
}

inline LogText textOf(const std::string &Path) {
  return textOf(LogReader::open(Path));
}

/// All logs of a directory, one after the other.
inline std::vector<std::string> linesOf(const std::string &Folder) {
  std::vector<std::string> Lines;
  std::vector<std::string> Logs = *findLogs(Folder);
  for (const std::string &Path : Logs) {
    LogText Text = textOf(Path);
    EXPECT_TRUE(Text.Failure.ok()) << Text.Failure.toString();
    Lines.insert(Lines.end(), Text.Lines.begin(), Text.Lines.end());
  }
  return Lines;
}

} // namespace cbridge

#endif // CBRIDGE_LOG_LOGTEST_H
