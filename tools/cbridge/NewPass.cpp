//===- NewPass.cpp - cbridge new-pass -------------------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"

#include "os/Folder.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace cbridge::tool {

namespace {

constexpr std::string_view PassText =
    R"(// @NAME@: decides for each function whether to optimise it for size. If the
// variable @VARIABLE@ names a model, that decides; else the rule below does.
#include <cbridge/PassModel.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

struct @NAME@ : llvm::PassInfoMixin<@NAME@> {
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &) {
    auto Runner = cbridge::passModel("@VARIABLE@", {"instructions", "blocks", "arguments"}, "small").runner(); // cbridge
    for (llvm::Function &F : M) {
      if (F.isDeclaration() || F.hasOptNone())
        continue;
      Runner.populateFeatures(std::pair{"instructions", F.getInstructionCount()}, std::pair{"blocks", F.size()}, std::pair{"arguments", F.arg_size()}); // cbridge
      if (Runner.evaluateOr<bool>([&] { return F.getInstructionCount() > 100; })) // cbridge
        F.addFnAttr(llvm::Attribute::OptimizeForSize);
    }
    return llvm::PreservedAnalyses::none();
  }
};

// Where opt and clang find it: by name, and at the start of every pipeline.
extern "C" LLVM_ATTRIBUTE_WEAK llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "@NAME@", "1", [](llvm::PassBuilder &PB) {
            PB.registerPipelineStartEPCallback(
                [](llvm::ModulePassManager &MPM, llvm::OptimizationLevel) {
                  MPM.addPass(@NAME@());
                });
            PB.registerPipelineParsingCallback(
                [](llvm::StringRef Name, llvm::ModulePassManager &MPM,
                   llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
                  if (Name != "@PASS@")
                    return false;
                  MPM.addPass(@NAME@());
                  return true;
                });
          }};
}
)";

constexpr std::string_view BuildText =
    R"(cmake_minimum_required(VERSION 3.22)
project(@NAME@ LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)

find_package(CompilerBridge REQUIRED) # -DCompilerBridge_DIR=$(cbridge cmake-path)
find_program(LLVM_CONFIG NAMES llvm-config-19 llvm-config REQUIRED)
execute_process(COMMAND "${LLVM_CONFIG}" --includedir
  OUTPUT_VARIABLE LLVM_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)

# No LLVM library is linked: the pass lives in a process that has one.
add_library(@NAME@ MODULE @NAME@.cpp)
set_target_properties(@NAME@ PROPERTIES PREFIX "")
target_include_directories(@NAME@ SYSTEM PRIVATE "${LLVM_INCLUDE_DIR}")
target_link_libraries(@NAME@ PRIVATE cbridge::core)
# Compilers unload plugins as they exit, and may have several: ours stays, and keeps to itself.
target_link_options(@NAME@ PRIVATE LINKER:-z,nodelete LINKER:--exclude-libs,ALL)
)";

constexpr std::string_view ExampleText =
    R"(static int triangle(int n) { return n * (n + 1) / 2; }
int sum(const int *values, int count) {
  int total = 0;
  for (int i = 0; i < count; ++i)
    total += triangle(values[i]);
  return total;
}
)";

constexpr std::string_view ReadmeText = R"(# @NAME@

An LLVM pass that asks a model, by CompilerBridge.

    cmake -B build -DCompilerBridge_DIR=$(cbridge cmake-path) && cmake --build build
    clang-19 -O2 -fpass-plugin=build/@NAME@.so -S -emit-llvm example.c -o -
    @VARIABLE@=constant:1 clang-19 -O2 -fpass-plugin=build/@NAME@.so -S -emit-llvm example.c -o -

With `constant:1` every function has the attribute `optsize`; without a model none has, as all are
short. Any runner string works in its place: `shm:trainer` asks a Python process,
`onnx:policy.onnx` and `native:policy.so` a model inside clang, and `?record=logs/` behind it keeps
features and decisions. A random model to begin with:

    cbridge new-model --choices 2 signature.json -o policy.onnx
)";

constexpr std::string_view SignatureText =
    R"({"inputs": [{"name": "instructions", "type": "int64_t", "shape": [1]},
            {"name": "blocks", "type": "int64_t", "shape": [1]},
            {"name": "arguments", "type": "int64_t", "shape": [1]}],
 "outputs": [{"name": "small", "type": "int64_t", "shape": [1]}]}
)";

struct File {
  std::string Name;
  std::string_view Text;
};

std::string filled(std::string_view Text, const std::string &Name) {
  auto Cased = [&](int (*Case)(int)) {
    std::string Made = Name;
    std::transform(Made.begin(), Made.end(), Made.begin(),
                   [&](unsigned char C) { return static_cast<char>(Case(C)); });
    return Made;
  };
  const std::pair<std::string_view, std::string> Blanks[] = {
      {"@NAME@", Name},
      {"@VARIABLE@", Cased(std::toupper) + "_MODEL"},
      {"@PASS@", Cased(std::tolower)}};
  std::string Made(Text);
  for (const auto &[Blank, Value] : Blanks)
    for (size_t At; (At = Made.find(Blank)) != std::string::npos;)
      Made.replace(At, Blank.size(), Value);
  return Made;
}

/// One that is neither a word of C++ nor a namespace of ours or LLVM's.
bool isClassName(const std::string &Name) {
  auto IsWord = [](unsigned char C) { return std::isalnum(C) || C == '_'; };
  return !Name.empty() && std::isupper(static_cast<unsigned char>(Name[0])) &&
         std::all_of(Name.begin(), Name.end(), IsWord);
}

Status write(const std::string &Path, const std::string &Text) {
  std::FILE *Out = std::fopen(Path.c_str(), "wx");
  bool Written =
      Out && std::fwrite(Text.data(), 1, Text.size(), Out) == Text.size();
  if (Out && std::fclose(Out) != 0)
    Written = false;
  if (Written)
    return Status();
  return Status::error(StatusCode::Io, Path + ": " + std::strerror(errno));
}

} // namespace

int newPass(Span<const std::string> Given) {
  Expected<Arguments> Parsed = Arguments::parse(Given, {{"-o", true}});
  if (!Parsed)
    return fail(Parsed.status());
  if (Parsed->Words.size() != 1)
    return fail("expected the name of the new pass; see --help");
  const std::string &Name = Parsed->Words[0];
  if (!isClassName(Name))
    return fail("'" + Name +
                "' cannot be the name of a pass: expected letters, digits and "
                "'_', the first a capital");
  std::string Folder = Parsed->has("-o") ? Parsed->Options["-o"] : Name;
  const File Files[] = {{"CMakeLists.txt", BuildText},
                        {Name + ".cpp", PassText},
                        {"example.c", ExampleText},
                        {"signature.json", SignatureText},
                        {"README.md", ReadmeText}};
  // All or nothing: what is there stays as it is.
  for (const File &Each : Files)
    if (::access((Folder + "/" + Each.Name).c_str(), F_OK) == 0)
      return fail(Folder + "/" + Each.Name + ": exists already");
  if (Status S = os::makeFolder(Folder); !S)
    return fail(S);
  for (const File &Each : Files)
    if (Status S = write(Folder + "/" + Each.Name, filled(Each.Text, Name)); !S)
      return fail(S);
  std::printf(
      "%s/%s.cpp is a pass that asks a model; %s/README.md tells how to "
      "build and run it\n",
      Folder.c_str(), Name.c_str(), Folder.c_str());
  return Success;
}

} // namespace cbridge::tool
