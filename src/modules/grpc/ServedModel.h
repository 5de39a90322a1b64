//===- ServedModel.h - For tests: a compiler that serves --------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_SERVEDMODEL_H
#define CBRIDGE_MODULES_GRPC_SERVEDMODEL_H

#include <cbridge/MLModelRunner.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

namespace cbridge::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Names of sockets that mean something else in a URI.
inline constexpr const char *OddNames[] = {
    "u%41x", "u%2541x", "a?b", "a#b", "a b", "a+b&c=d", "\xc3\xa4", "a:b", "%"};

/// A directory for one test.
class Folder {
public:
  Folder() {
    std::string Made =
        (std::filesystem::temp_directory_path() / "cbridge-XXXXXX").string();
    EXPECT_NE(::mkdtemp(Made.data()), nullptr);
    Path = Made;
  }
  ~Folder() { std::filesystem::remove_all(Path); }
  std::string file(const char *Name) const { return Path / Name; }
  size_t count() const {
    return size_t(std::distance(std::filesystem::directory_iterator(Path),
                                std::filesystem::directory_iterator()));
  }

private:
  std::filesystem::path Path;
};

inline std::string contentOf(const std::string &File) {
  std::ifstream In(File);
  return std::string(std::istreambuf_iterator<char>(In), {});
}

inline Signature xToY() {
  return {{TensorSpec::create<int64_t>("x")}, TensorSpec::create<int64_t>("y")};
}

/// A compiler on a port of its own choice.
class ServedModel {
public:
  explicit ServedModel(const std::string &Options = "timeout=20s")
      : M(Model::open("grpc:127.0.0.1:0?role=server&on_error=fail&announce=" +
                          In.file("address") + "&" + Options,
                      xToY())) {
    EXPECT_TRUE(M) << M.status().toString();
  }
  /// HOST:PORT
  std::string address() const {
    std::string Line = contentOf(In.file("address"));
    EXPECT_EQ(Line.rfind("grpc:", 0), 0u) << Line;
    EXPECT_EQ(Line.back(), '\n') << Line;
    return Line.substr(5, Line.size() - 6);
  }
  /// Asks in another thread.
  std::future<Expected<int64_t>> ask(MLModelRunner &Runner, int64_t X) {
    return std::async(std::launch::async, [&Runner, X] {
      Runner.populateFeatures(std::pair{"x", X});
      return Runner.evaluate<int64_t>();
    });
  }

  Folder In;
  Expected<Model> M;
};

} // namespace cbridge::test

#endif // CBRIDGE_MODULES_GRPC_SERVEDMODEL_H
