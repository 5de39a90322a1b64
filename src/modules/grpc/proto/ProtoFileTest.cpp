//===- ProtoFileTest.cpp - Files that are descriptor sets, or not ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/proto/UserMethod.h"
#include "modules/grpc/proto/UserProto.h"
#include "os/File.h"

#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <sstream>

#include <sys/stat.h>

using namespace cbridge;

namespace {

/// The message for these options, with the path of the test's descriptor set.
std::string methodError(const std::string &Options) {
  auto R =
      RunnerString::parse("grpc:x:1?proto=" CBRIDGE_TEST_DESCRIPTOR + Options);
  std::shared_ptr<const ProtoFile> File = testProtos();
  auto M = File->method(*R);
  return M ? (*M)->fullName() : M.status().message();
}

bool has(const std::string &Text, const std::string &Part) {
  return Text.find(Part) != Text.npos;
}

Expected<std::shared_ptr<const ProtoFile>> parse(const std::string &Set) {
  return ProtoFile::parse(
      {reinterpret_cast<const unsigned char *>(Set.data()), Set.size()});
}

std::string descriptorSet() {
  std::ostringstream All;
  All << std::ifstream(CBRIDGE_TEST_DESCRIPTOR).rdbuf();
  return All.str();
}

} // namespace

TEST(ProtoFileTest, MethodsByFullShortAndNoName) {
  EXPECT_EQ(methodError("&service=cbridge.test.Kinds&method=ask"),
            "cbridge.test.Kinds.ask");
  // Two files have a service Kinds, but only one has this method.
  EXPECT_EQ(methodError("&service=Kinds&method=talk"),
            "cbridge.test.Kinds.talk");
  EXPECT_EQ(methodError("&method=talk"), "cbridge.test.Kinds.talk");
  EXPECT_EQ(methodError("&service=Second"), "cbridge.old.Second.ask");
  std::string Which = methodError("&service=Kinds&method=ask");
  EXPECT_TRUE(has(Which, "which of cbridge.test.Kinds.ask, "
                         "cbridge.old.Kinds.ask"))
      << Which;
  Which = methodError("");
  EXPECT_TRUE(has(Which, "cbridge.old.Second.ask")) << Which;
  Which = methodError("&service=None");
  EXPECT_TRUE(has(Which, "no method of such a service; there are "
                         "cbridge.test.Kinds, cbridge.old.Kinds, "
                         "cbridge.old.Second"))
      << Which;
  Which = methodError("&service=Second&method=tell");
  EXPECT_TRUE(has(Which, "no such method; there are cbridge.old.Second.ask"))
      << Which;
}

TEST(ProtoFileTest, StreamsGoBothWaysOrNone) {
  Signature Sig({TensorSpec::create<int64_t>("x")}, adviceOfTest());
  auto Open = [&](const std::string &Name) {
    auto R = RunnerString::parse("grpc:x:1?proto=" CBRIDGE_TEST_DESCRIPTOR
                                 "&service=cbridge.test.Kinds&method=" +
                                 Name);
    return userMethod(*R, Sig, /*Serving=*/false);
  };
  Expected<Method> Ask = Open("ask"), Talk = Open("talk");
  ASSERT_TRUE(Ask) << Ask.status().toString();
  ASSERT_TRUE(Talk) << Talk.status().toString();
  EXPECT_EQ(Ask->Path, "/cbridge.test.Kinds/ask");
  EXPECT_FALSE(Ask->Streams);
  EXPECT_TRUE(Talk->Streams);
  for (const char *Name : {"upload", "watch"}) {
    Expected<Method> M = Open(Name);
    ASSERT_FALSE(M);
    EXPECT_EQ(M.status().code(), StatusCode::InvalidArgument);
    EXPECT_TRUE(has(M.status().message(), "streams in one direction only"))
        << M.status().message();
  }
}

TEST(ProtoFileTest, FilesThatCannotBeRead) {
  Expected<std::string> Folder = os::makePrivateDirectory();
  ASSERT_TRUE(Folder);
  auto CodeOf = [](const std::string &Path) {
    return ProtoFile::read(Path).status().code();
  };
  EXPECT_EQ(CodeOf(*Folder + "/none.desc"), StatusCode::Unavailable);
  EXPECT_EQ(CodeOf(*Folder), StatusCode::Io);
  std::string Fifo = *Folder + "/fifo";
  ASSERT_EQ(::mkfifo(Fifo.c_str(), 0600), 0);
  EXPECT_EQ(CodeOf(Fifo), StatusCode::Io);
  std::string File = *Folder + "/x.desc";
  for (const char *Text : {"", "syntax = \"proto3\";", "\x7f"}) {
    std::ofstream(File) << Text;
    Status S = ProtoFile::read(File).status();
    EXPECT_EQ(S.code(), StatusCode::Protocol) << Text;
    EXPECT_TRUE(has(S.message(), File + ": is no descriptor set")) << Text;
    EXPECT_TRUE(has(S.message(), "--include_imports")) << Text;
  }
  os::removeDirectory(*Folder);
}

/// Whatever is left of a file, it is refused or understood.
TEST(ProtoFileTest, TruncatedFiles) {
  std::string All = descriptorSet();
  ASSERT_FALSE(All.empty());
  size_t Understood = 0;
  for (size_t Size = 0; Size < All.size(); ++Size)
    if (auto File = parse(All.substr(0, Size)))
      ++Understood; // whole files are missing
    else
      EXPECT_FALSE(File.status().message().empty());
  EXPECT_LE(Understood, 2u);
}

TEST(ProtoFileTest, WithoutImports) {
  google::protobuf::FileDescriptorSet Set, Alone;
  ASSERT_TRUE(Set.ParseFromString(descriptorSet()));
  for (const auto &Each : Set.file())
    if (Each.name() == "kinds.proto")
      *Alone.add_file() = Each;
  Status S = parse(Alone.SerializeAsString()).status();
  EXPECT_EQ(S.code(), StatusCode::Protocol);
  EXPECT_TRUE(has(S.message(), "common.proto")) << S.message();
  EXPECT_TRUE(has(S.message(), "--include_imports")) << S.message();
}
