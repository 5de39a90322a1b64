//===- ModuleTest.cpp - Tests of good and bad modules ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Module.h"

#include "os/File.h"

#include <cbridge/MLModelRunner.h>
#include <cbridge/Peer.h>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

using namespace cbridge;

namespace {

const std::string Found = CBRIDGE_TEST_MODULES;

/// The modules of tests/modules are found.
class ModuleTest : public testing::Test {
protected:
  void SetUp() override { setPath("::relative/path:" + Found + ":"); }
  void TearDown() override {
    if (!Directory.empty())
      std::filesystem::remove_all(Directory);
  }
  static void setPath(const std::string &Path) {
    ::setenv("CBRIDGE_MODULE_PATH", Path.c_str(), 1);
  }
  const std::string &directory() {
    if (Directory.empty())
      Directory = *os::makePrivateDirectory();
    return Directory;
  }
  static void expectSays(const Status &S, StatusCode Code,
                         std::string_view Says) {
    EXPECT_EQ(S.code(), Code) << S.toString();
    EXPECT_NE(S.message().find(Says), std::string::npos) << S.toString();
  }

private:
  std::string Directory;
};

/// How often a module has been loaded.
size_t loaded(std::string_view Name) {
  size_t Count = 0;
  for (const Module *Each : Module::loaded())
    Count += Each->file().find("/" + std::string(Name)) != std::string::npos;
  return Count;
}

Signature sums() {
  return {{TensorSpec::create<int64_t>("a", {2}),
           TensorSpec::create<float>("b", {Dynamic})},
          TensorSpec::create<double>("total")};
}

Status openError(const std::string &Text, Signature Sig = sums()) {
  return Model::open(Text, std::move(Sig)).status();
}
/// Opened, but why does it not decide?
Status whyNot(const std::string &Text, Signature Sig = sums()) {
  Expected<Model> M = Model::open(Text, std::move(Sig));
  EXPECT_TRUE(M) << M.status().toString();
  return M ? M->whyNot() : M.status();
}

TEST_F(ModuleTest, NobodyLooksForModulesWithoutNeed) {
  EXPECT_TRUE(Model::open("constant:1", sums()));
  (void)Model::open("pipe:/no/such/peer?serdes=json", sums());
  EXPECT_FALSE(Model::open("constant:x", sums()));
  EXPECT_TRUE(Module::loaded().empty());
  std::ifstream Maps("/proc/self/maps");
  std::string All((std::istreambuf_iterator<char>(Maps)), {});
  EXPECT_EQ(All.find("/cbridge-"), std::string::npos);
}

TEST_F(ModuleTest, ARunnerInC) {
  Expected<Model> M = Model::open("sum:?unit=2us", sums());
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner R = M->runner();
  R.populateFeatures(std::pair{"a", std::vector<int64_t>{1, 20}},
                     std::pair{"b", std::vector<float>{0.5f, 300}});
  EXPECT_EQ(R.evaluate<double>().valueOr(0), 643000);
  ASSERT_TRUE(R.reward(1000).ok());
  EXPECT_EQ(R.evaluate<double>().valueOr(0), 2643000);
  R.resize(1, {0});
  R.getTensor<int64_t>(0)[1] = 0;
  EXPECT_EQ(R.evaluate<double>().valueOr(0), 2000);
  EXPECT_TRUE(R.endEpisode().ok());
  EXPECT_EQ(loaded("cbridge-sum.so"), 1u);
}

TEST_F(ModuleTest, WrongStringsArePointedAt) {
  expectSays(openError("sum:?unit=soon"), StatusCode::InvalidArgument, "soon");
  expectSays(openError("sum:?sign=*"), StatusCode::InvalidArgument,
             "column 11: expected + or -");
  expectSays(openError("sum:" + std::string(40, 'x')),
             StatusCode::InvalidArgument, "column 5: expected a short word");
  expectSays(openError("sum:?typo=1"), StatusCode::InvalidArgument,
             "has no option 'typo'");
}

TEST_F(ModuleTest, ErrorsOfAModuleBecomeStatuses) {
  Signature Other({TensorSpec::create<int64_t>("a")},
                  TensorSpec::create<int64_t>("x"));
  expectSays(whyNot("sum:", Other), StatusCode::Unsupported,
             "sum: decides on one double");
  expectSays(openError("sum:?on_error=fail", Other), StatusCode::Unsupported,
             "sum: decides");
  auto Evaluated = [](const char *Text, bool Closes) {
    Expected<Model> M = Model::open(Text, sums());
    MLModelRunner R = M->runner();
    Status S = R.evaluate<double>().status();
    EXPECT_EQ(M->whyNot().ok(), !Closes) << Text;
    return S;
  };
  expectSays(Evaluated("sum:abstain", false), StatusCode::Abstained,
             "as you wish");
  expectSays(Evaluated("sum:break", true), StatusCode::Io, "the abacus broke");
  expectSays(Evaluated("sum:unknown", false), StatusCode::Unsupported,
             "nobody knows this (module " + Found +
                 "/cbridge-sum.so has the unknown code 4711)");
  expectSays(Evaluated("sum:silent", false), StatusCode::Unsupported,
             "cbridge-sum.so fails and does not say why");
}

TEST_F(ModuleTest, ARunnerInCxxHasAllThatEnginesHave) {
  Signature Sig({TensorSpec::create<int64_t>("n", {}),
                 TensorSpec::create<std::string>("s", {Dynamic}),
                 TensorSpec::create<float>("v", {Dynamic, 2}),
                 TensorSpec::create<bool>("none", {0})},
                std::vector{TensorSpec::create<int64_t>("n", {}),
                            TensorSpec::create<std::string>("s", {Dynamic}),
                            TensorSpec::create<float>("v", {Dynamic, 2}),
                            TensorSpec::create<bool>("none", {0}),
                            TensorSpec::create<std::string>("context"),
                            TensorSpec::create<double>("reward")});
  Expected<Model> M = Model::open("echo:", Sig);
  ASSERT_TRUE(M) << M.status().toString();
  MLModelRunner R = M->runner();
  for (int Round = 0; Round < 3; ++Round) {
    R.switchContext("f" + std::to_string(Round));
    std::vector<std::string> Texts(size_t(Round), "text");
    std::vector<std::vector<float>> Rows(size_t(Round), {1, 2});
    R.populateFeatures(std::pair{"n", Round}, std::pair{"s", Texts},
                       std::pair{"v", Rows});
    Expected<Decision> D = R.evaluate();
    ASSERT_TRUE(D) << D.status().toString();
    EXPECT_EQ(D->get<int64_t>("n").valueOr(-1), Round);
    EXPECT_EQ(D->get<std::vector<std::string>>("s").valueOr(Texts), Texts);
    EXPECT_EQ(D->get<std::vector<float>>("v")->size(), size_t(2 * Round));
    EXPECT_EQ(D->get<std::string>("context").valueOr(""),
              "f" + std::to_string(Round));
    EXPECT_EQ(D->get<double>("reward").valueOr(0), Round ? Round - 1 : -1);
    ASSERT_TRUE(R.reward(Round).ok());
  }
  EXPECT_TRUE(R.endEpisode().ok());
  expectSays(openError("echo:x"), StatusCode::InvalidArgument,
             "column 6: expected nothing");
}

TEST_F(ModuleTest, ExceptionsStayInTheModule) {
  Signature Sig({TensorSpec::create<int64_t>("n")},
                TensorSpec::create<int64_t>("n"));
  Expected<Model> M = Model::open("echo:throw", Sig);
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  expectSays(R.evaluate<int64_t>().status(), StatusCode::OutOfMemory,
             "echo threw");
}

TEST_F(ModuleTest, AnUnknownSchemeTellsWhatThereIs) {
  setPath("/no/such/place:" + Found);
  Status S = openError("nope:x");
  expectSays(S, StatusCode::InvalidArgument,
             "there is no scheme 'nope:'; there are constant:, heuristic:, ");
  expectSays(S, StatusCode::InvalidArgument, "there is no cbridge-nope.so in ");
  expectSays(S, StatusCode::InvalidArgument, "/no/such/place, " + Found);
  S = openError("pipe:/tmp/x?serdes=nope");
  expectSays(S, StatusCode::InvalidArgument,
             "there is no serializer 'nope'; there are bitstream, json, and "
             "there is no cbridge-nope.so in ");
  expectSays(openError("pipe:/tmp/x?serdes=../found/cbridge-sum"),
             StatusCode::InvalidArgument, "no module can have that name");
  expectSays(Peer::open("nope:x").status(), StatusCode::InvalidArgument,
             "a peer cannot serve 'nope:'; it can serve pipe:");
}

TEST_F(ModuleTest, WhatIsNoModuleIsNoReasonToFail) {
  setPath(directory() + ":" + Found);
  std::ofstream(directory() + "/cbridge-text.so") << std::string(5000, 'x');
  std::ofstream(directory() + "/cbridge-empty.so").flush();
  std::filesystem::create_directory(directory() + "/cbridge-folder.so");
  std::filesystem::create_symlink("nowhere", directory() + "/cbridge-link.so");
  struct {
    const char *Text;
    std::string Says;
  } const Cases[] = {
      {"text:", "cbridge-text.so: invalid ELF header"},
      {"empty:", "cbridge-empty.so: file too short"},
      {"folder:", "cbridge-folder.so: "},
      {"version:", "cbridge-version.so: has interface version 7, this program "
                   "has 1"},
      {"symbol:", "cbridge-symbol.so: does not export cbridge_module_v1"},
      {"refuses:", "cbridge-refuses.so: refuses to work with interface version "
                   "1"},
      {"nulls1:", "cbridge-nulls1.so: 'nulls1' has no open"},
      {"nulls3:", "cbridge-nulls3.so: 'nulls3' has no connect"},
      {"pipe:/tmp/x?serdes=nulls2", "'nulls2' has no create"},
      {"pipe:/tmp/x?serdes=sum", "cbridge-sum.so: has no serializer 'sum'"},
  };
  for (const auto &Each : Cases) {
    expectSays(whyNot(Each.Text), StatusCode::Unsupported, Each.Says);
    std::string Text = Each.Text;
    Text += Text.find('?') == Text.npos ? "?on_error=fail" : "&on_error=fail";
    expectSays(openError(Text), StatusCode::Unsupported, Each.Says);
  }
  // Nobody is at the end of that link.
  expectSays(openError("link:"), StatusCode::InvalidArgument, "no scheme");
  expectSays(Peer::open("sum:x").status(), StatusCode::Unsupported,
             "cbridge-sum.so: has no channel 'sum'");
}

TEST_F(ModuleTest, OneThatIsCutOffIsRefused) {
  std::ifstream In(Found + "/cbridge-version.so", std::ios::binary);
  const std::string Whole((std::istreambuf_iterator<char>(In)), {});
  // Each is a file of its own: what was loaded must not change.
  auto Cut = [&](size_t Size) {
    std::string File = directory() + "/" + std::to_string(Size) + ".so";
    std::ofstream(File, std::ios::binary) << Whole.substr(0, Size);
    return whyNot("native:" + File);
  };
  const std::string Claims = " bytes, its program headers claim ";
  std::string Said = Cut(1000).message();
  size_t At = Said.find(Claims);
  ASSERT_NE(At, Said.npos) << Said;
  size_t Claimed = std::stoul(Said.substr(At + Claims.size()));
  ASSERT_GT(Claimed, 1000u);
  ASSERT_LE(Claimed, Whole.size());
  for (size_t Size :
       {size_t(4096), Whole.size() / 2, Whole.size() - 100, Claimed - 1})
    if (Size < Claimed)
      expectSays(Cut(Size), StatusCode::Unsupported,
                 "/" + std::to_string(Size) + ".so: is cut off: it has " +
                     std::to_string(Size) + Claims + std::to_string(Claimed));
    else
      expectSays(Cut(Size), StatusCode::Unsupported, "interface version 7");
  // That is all that the loader needs.
  expectSays(Cut(Claimed), StatusCode::Unsupported, "interface version 7");
  expectSays(Cut(100), StatusCode::Unsupported, "100.so: is cut off: ");
  expectSays(Cut(20), StatusCode::Unsupported, "20.so: file too short");
}

TEST_F(ModuleTest, AProgramWithoutCompiledModels) {
  Status S = whyNot("native:Mlp");
  expectSays(S, StatusCode::Unsupported,
             "there is no model 'Mlp' in this program, which has none");
  expectSays(S, StatusCode::Unsupported, "define cbridge_linked_models");
}

TEST_F(ModuleTest, AbsurdTensorsAreRefused) {
  Signature Sig({TensorSpec::create<double>("x")},
                TensorSpec::create<double>("y"));
  struct {
    const char *Wish, *Says;
  } const Cases[] = {
      {"size", "'y': 1152921504606846976 bytes for 1 elements of 8"},
      {"extents", "'y': is double[1], got shape [9223372036854775807]"},
      {"negative", "'y': is double[1], got shape [?]"},
      {"noextents", "'y' has no extents"},
      {"null", "'y': 8 bytes at a null pointer"},
      {"unaligned", "'y': is not aligned to 8 bytes"},
  };
  for (const auto &Each : Cases) {
    Expected<Model> M = Model::open("liar:" + std::string(Each.Wish), Sig);
    ASSERT_TRUE(M) << M.status().toString();
    MLModelRunner R = M->runner();
    expectSays(R.evaluate<double>().status(), StatusCode::Protocol, Each.Says);
  }
  for (const char *Wish :
       {"count", "null", "rank", "shape", "type", "extent", "anything"}) {
    Status S = Model::describe("liar:" + std::string(Wish)).status();
    EXPECT_EQ(S.code(),
              Wish[0] == 'e' ? StatusCode::ShapeMismatch : StatusCode::Protocol)
        << S.toString();
    EXPECT_NE(S.message().find("liar"), std::string::npos) << S.toString();
  }
  Expected<Model> M = Model::open("liar:input", Sig);
  ASSERT_TRUE(M);
  MLModelRunner R = M->runner();
  expectSays(R.evaluate<double>().status(), StatusCode::Protocol,
             "feature 'x' needs 8 aligned bytes, not 3");
}

TEST_F(ModuleTest, ASerializerThatLies) {
  Expected<std::unique_ptr<Serializer>> Liar = makeSerializer("liar");
  ASSERT_TRUE(Liar) << Liar.status().toString();
  TensorStorage Tensors({TensorSpec::create<double>("x", {Dynamic})});
  Message To;
  expectSays((*Liar)->encode(Tensors.views(), To), StatusCode::Protocol,
             "'liar' has more bytes than it had room for");
  DecodedTensors Decoded(std::make_shared<std::vector<TensorSpec>>(
      std::vector{TensorSpec::create<double>("x", {Dynamic})}));
  struct {
    const char *Payload, *Says;
    StatusCode Code;
  } const Cases[] = {
      {"outside.", "'x' lies outside of the message", StatusCode::Protocol},
      {"longer..", "'x' lies outside of the message", StatusCode::Protocol},
      {"more....", "there is no tensor 17", StatusCode::Protocol},
      {"backing.", "does not say why", StatusCode::OutOfMemory},
      {"........", "liar: 'x' is missing", StatusCode::Protocol},
  };
  for (const auto &Each : Cases) {
    alignas(64) unsigned char Payload[8];
    std::memcpy(Payload, Each.Payload, sizeof(Payload));
    expectSays((*Liar)->decode(Payload, Decoded), Each.Code, Each.Says);
  }
}

TEST_F(ModuleTest, AnExplicitFile) {
  setPath("");
  if (!loaded("cbridge-sum.so"))
    expectSays(openError("sum:"), StatusCode::InvalidArgument, "no scheme");
  Registry R = Registry::builtin();
  expectSays(R.addModule(Found + "/no.so"), StatusCode::Unavailable,
             "no.so: No such file");
  ASSERT_TRUE(R.addModule(Found + "/cbridge-sum.so").ok());
  EXPECT_TRUE(Model::open("sum:", sums(), R));
  // Loaded once, whatever it is called.
  std::filesystem::create_symlink(Found + "/cbridge-sum.so",
                                  directory() + "/other.so");
  ASSERT_TRUE(R.addModule(directory() + "/other.so").ok());
  EXPECT_EQ(loaded("cbridge-sum.so") + loaded("other.so"), 1u);
  // And known from then on.
  EXPECT_TRUE(Model::open("sum:", sums()));
}

TEST_F(ModuleTest, ThreadsLoadAModuleTogether) {
  std::vector<std::thread> Threads;
  std::atomic<int> Right{0};
  for (int T = 0; T < 4; ++T)
    Threads.emplace_back([&] {
      for (const char *Text : {"sum:", "echo:", "sum:abstain"}) {
        Signature Sig =
            Text[0] == 's'
                ? sums()
                : Signature({},
                            std::vector{TensorSpec::create<double>("reward")});
        Expected<Model> M = Model::open(Text, Sig);
        if (!M)
          continue;
        MLModelRunner R = M->runner();
        Right += R.evaluate<double>().ok();
      }
    });
  for (std::thread &Each : Threads)
    Each.join();
  EXPECT_EQ(Right, 8);
  EXPECT_EQ(loaded("cbridge-sum.so"), 1u);
  EXPECT_EQ(loaded("cbridge-echo.so"), 1u);
}

} // namespace
