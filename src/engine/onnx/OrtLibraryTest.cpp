//===- OrtLibraryTest.cpp - Where ONNX Runtime comes from -----------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process loads the library once, so that each case is a child.
//
//===----------------------------------------------------------------------===//
#include "os/File.h"
#include "os/Folder.h"

#include <cbridge/MLModelRunner.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cbridge;

namespace {

const std::string Affine = CBRIDGE_TESTS_DIR "/golden/onnx/affine.onnx";

std::string loadedRuntime() {
  std::ifstream Maps("/proc/self/maps");
  for (std::string Line; std::getline(Maps, Line);)
    if (size_t At = Line.find('/');
        At != Line.npos && Line.find("onnxruntime.so") != Line.npos)
      return Line.substr(At);
  return "";
}

/// Opens a model in a child; what it says about that.
template <typename Callable> std::string inChild(Callable Body) {
  int Ends[2];
  EXPECT_EQ(::pipe(Ends), 0);
  pid_t Child = ::fork();
  if (Child == 0) {
    std::string Said = Body();
    (void)!::write(Ends[1], Said.data(), Said.size());
    ::_exit(0);
  }
  ::close(Ends[1]);
  std::string All;
  char Part[512];
  for (ssize_t Size; (Size = ::read(Ends[0], Part, sizeof(Part))) > 0;)
    All.append(Part, size_t(Size));
  ::close(Ends[0]);
  int Ended = 0;
  ::waitpid(Child, &Ended, 0);
  EXPECT_TRUE(WIFEXITED(Ended) && WEXITSTATUS(Ended) == 0) << Ended;
  return All;
}

std::string openAffine() {
  Expected<Model> M =
      Model::open("onnx:" + Affine, {{TensorSpec::create<float>("x", {4})},
                                     TensorSpec::create<float>("y", {3})});
  if (!M)
    return M.status().toString();
  return M->whyNot().ok() ? "loaded " + loadedRuntime() : M->whyNot().message();
}

std::string openWith(const char *Library) {
  return inChild([&] {
    ::setenv("CBRIDGE_ONNXRUNTIME", Library, 1);
    return openAffine();
  });
}

/// The library that ./dev names for the tests.
std::string theLibrary() {
  const char *Given = std::getenv("CBRIDGE_ONNXRUNTIME");
  EXPECT_TRUE(Given) << "name the library in CBRIDGE_ONNXRUNTIME";
  return Given ? Given : "";
}

} // namespace

TEST(OrtLibraryTest, TheNamedOne) {
  EXPECT_EQ(inChild(openAffine).rfind("loaded /", 0), 0U);
}

TEST(OrtLibraryTest, OneThatCannotBeUsedIsNamed) {
  EXPECT_EQ(openWith("/nonexistent/libonnxruntime.so"),
            "ONNX Runtime in /nonexistent/libonnxruntime.so: cannot open "
            "shared object file: No such file or directory; "
            "CBRIDGE_ONNXRUNTIME names it");
  std::string Text = openWith(Affine.c_str());
  EXPECT_NE(Text.find(Affine + ": "), Text.npos) << Text;
  EXPECT_EQ(openWith("libm.so.6"),
            "ONNX Runtime in libm.so.6: it does not export OrtGetApiBase; "
            "CBRIDGE_ONNXRUNTIME names it");
  EXPECT_EQ(openWith(CBRIDGE_OLD_ONNXRUNTIME),
            "ONNX Runtime in " CBRIDGE_OLD_ONNXRUNTIME
            ": version 1.8.1 is too old; 1.14 or later is needed; "
            "CBRIDGE_ONNXRUNTIME names it");
}

TEST(OrtLibraryTest, AFifoKeepsNobodyWaiting) {
  Expected<std::string> Folder = os::makePrivateDirectory();
  ASSERT_TRUE(Folder);
  std::string Fifo = *Folder + "/fifo.so";
  ASSERT_EQ(::mkfifo(Fifo.c_str(), 0600), 0);
  EXPECT_EQ(openWith(Fifo.c_str()),
            "ONNX Runtime in " + Fifo +
                ": is no regular file; CBRIDGE_ONNXRUNTIME names it");
  os::removeDirectory(*Folder);
}

TEST(OrtLibraryTest, NoneAtAll) {
  EXPECT_EQ(inChild([] {
              for (const char *Variable :
                   {"CBRIDGE_ONNXRUNTIME", "VIRTUAL_ENV", "CONDA_PREFIX"})
                ::unsetenv(Variable);
              ::setenv("HOME", "/nonexistent", 1);
              return openAffine();
            }),
            "there is no ONNX Runtime: name its library in "
            "CBRIDGE_ONNXRUNTIME, install libonnxruntime.so where the loader "
            "finds it, or 'pip install onnxruntime'");
}

TEST(OrtLibraryTest, ThatOfAVirtualEnvironment) {
  Expected<std::string> Folder = os::makePrivateDirectory();
  ASSERT_TRUE(Folder);
  std::string Place = *Folder, File = theLibrary();
  for (const char *Part :
       {"/lib", "/python3.99", "/site-packages", "/onnxruntime", "/capi"})
    ASSERT_TRUE(os::makeFolder(Place += Part).ok());
  ASSERT_EQ(::symlink(File.c_str(), (Place + "/libonnxruntime.so.1.2").c_str()),
            0);
  EXPECT_EQ(inChild([&] {
              ::unsetenv("CBRIDGE_ONNXRUNTIME");
              ::setenv("VIRTUAL_ENV", Folder->c_str(), 1);
              return openAffine();
            }).rfind("loaded /", 0),
            0U);
  ASSERT_EQ(std::system(("rm -r '" + *Folder + "'").c_str()), 0);
}

// A compiler that asks no ONNX model does not pay for it.
TEST(OrtLibraryTest, NothingIsLoadedWithoutNeed) {
  EXPECT_EQ(inChild([] {
              Expected<Model> M =
                  Model::open("constant:4", {{TensorSpec::create<float>("x")},
                                             TensorSpec::create<float>("y")});
              bool Asked = M && M->runner().evaluate<float>();
              return (Asked ? "asked " : "failed ") + loadedRuntime();
            }),
            "asked ");
}
