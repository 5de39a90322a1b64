//===- SecurityTest.cpp - TLS and bearer tokens ---------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/EchoPeer.h"

#include "os/File.h"
#include "os/Process.h"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

using namespace cbridge;
using namespace cbridge::test;
using std::chrono::seconds;

namespace {

/// Two authorities; certificates for 127.0.0.1, for 'peer.example', an expired
/// one, one of a compiler.
constexpr const char MakeCertificates[] = R"(set -e
ca() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -keyout $1.key -out $1.pem -days 2 -subj /CN=$1
}
cert() { # NAME CA DAYS ALTERNATIVE
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -keyout $1.key -out $1.csr -subj /CN=$1 -addext subjectAltName=$4
  openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial \
    -days $3 -copy_extensions copy -out $1.pem
}
ca ca
ca other
cert peer ca 2 IP:127.0.0.1
cert named ca 2 DNS:peer.example
cert old ca -1 IP:127.0.0.1
cert compiler ca 2 DNS:compiler
cert stranger other 2 DNS:compiler
)";

class SecurityTest : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    Expected<std::string> Made = os::makePrivateDirectory();
    ASSERT_TRUE(Made) << Made.status().toString();
    Folder = *Made + "/";
    Expected<os::Process> Openssl =
        os::Process::spawn({"sh", "-c",
                            "cd " + Folder + "; exec >log 2>&1; " +
                                MakeCertificates + "echo done"},
                           {});
    ASSERT_TRUE(Openssl) << Openssl.status().toString();
    Deadline Until = Deadline::in(seconds(30));
    for (os::Backoff Pause; !Openssl->exited();)
      ASSERT_TRUE(Pause.pause(Until));
    ASSERT_TRUE(std::filesystem::exists(Folder + "stranger.pem"))
        << std::ifstream(Folder + "log").rdbuf();
    write("token", "\n  s3cret-token \r\n");
    write("wrong", "s3cret-tokem");
    write("longer", "s3cret-tokens");
    write("shorter", "s3cret-toke");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(Folder); }

  static void write(const char *Name, const std::string &Text) {
    std::ofstream(Folder + Name, std::ios::binary) << Text;
  }
  /// `@` is our folder.
  static std::string at(std::string Options) {
    for (size_t At; (At = Options.find('@')) != Options.npos;)
      Options.replace(At, 1, Folder);
    return Options;
  }
  static Status asks(const EchoPeer &Of, const std::string &Options) {
    return askOnce(Of.address() + "?on_error=fail&timeout=5s" + at(Options));
  }
  static Status serves(const std::string &Address) {
    return Peer::open(at(Address)).status();
  }

  static std::string Folder;
};
std::string SecurityTest::Folder;

void expectRefused(const Status &S, const char *Says) {
  EXPECT_TRUE(S.isTransport()) << S.toString();
  EXPECT_NE(S.code(), StatusCode::Timeout) << S.toString();
  EXPECT_NE(S.message().find(Says), std::string::npos) << S.toString();
  EXPECT_EQ(S.message().find("s3cret"), std::string::npos) << S.toString();
}

} // namespace

TEST_F(SecurityTest, ATokenLetsIn) {
  EchoPeer Of(at("grpc:127.0.0.1:0?token_file=@token"));
  EXPECT_EQ(Of.address().find('?'), std::string::npos) << Of.address();
  EXPECT_TRUE(asks(Of, "&token_file=@token").ok())
      << asks(Of, "&token_file=@token").toString();
  size_t Seen = Of.seen();
  for (const char *Wrong : {"", "&token_file=@wrong", "&token_file=@longer",
                            "&token_file=@shorter"}) {
    Status S = asks(Of, Wrong);
    expectRefused(S, " refuses: ");
    EXPECT_EQ(S.code(), StatusCode::Unavailable);
  }
  EXPECT_EQ(Of.seen(), Seen) << "a call without token has reached the peer";
  EXPECT_TRUE(asks(Of, "&token_file=@token").ok());
}

TEST_F(SecurityTest, ATokenThatNobodyDemandsDoesNoHarm) {
  EchoPeer Of("grpc:127.0.0.1:0");
  EXPECT_TRUE(asks(Of, "&token_file=@token").ok());
}

TEST_F(SecurityTest, TokensThatAreNone) {
  write("empty", " \n");
  write("binary", "s3cret\x01");
  write("lines", "s3cret\ns3cret");
  write("huge", std::string(100'000, 'x'));
  ASSERT_EQ(::mkfifo((Folder + "fifo").c_str(), 0600), 0);
  for (const char *File :
       {"empty", "binary", "lines", "huge", "absent", "fifo", "."}) {
    for (const Status &S :
         {askOnce(at("grpc:127.0.0.1:1?on_error=fail&token_file=@") + File),
          serves("grpc:127.0.0.1:0?token_file=@" + std::string(File))}) {
      EXPECT_EQ(S.code(), StatusCode::Io) << S.toString();
      EXPECT_NE(S.message().find(Folder + File), std::string::npos)
          << S.toString();
      EXPECT_EQ(S.message().find("s3cret"), std::string::npos) << S.toString();
    }
  }
}

TEST_F(SecurityTest, OthersMayConnectOnlyIfTheyAreChecked) {
  for (const char *Address :
       {"grpc:0.0.0.0:0", "grpc:[::]:0", "grpc:10.0.0.1:1",
        "grpc:127.0.0.1.example.org:1"}) {
    Status S = serves(Address);
    EXPECT_EQ(S.code(), StatusCode::InvalidArgument) << S.toString();
    EXPECT_NE(S.message().find("token_file="), std::string::npos);
  }
  EchoPeer WithToken(at("grpc:0.0.0.0:0?token_file=@token"));
  EXPECT_EQ(WithToken.address().rfind("grpc:0.0.0.0:", 0), 0u);
  EXPECT_TRUE(asks(WithToken, "&token_file=@token").ok());
  EchoPeer WithTls(at("grpc:0.0.0.0:0?tls_cert=@named.pem&tls_key=@named.key"));
  Status S = asks(WithTls, "&tls_ca=@ca.pem&tls_name=peer.example");
  EXPECT_TRUE(S.ok()) << S.toString();
}

TEST_F(SecurityTest, ACompilerKnowsItsPeerByTls) {
  EchoPeer Of(at("grpc:127.0.0.1:0?tls_cert=@peer.pem&tls_key=@peer.key"));
  Status S = asks(Of, "&tls_ca=@ca.pem");
  EXPECT_TRUE(S.ok()) << S.toString();
  // Each is known at once, even if there is time.
  auto Start = Deadline::Clock::now();
  expectRefused(asks(Of, "&connect=20s&tls_ca=@other.pem"), "no TLS with it");
  expectRefused(asks(Of, "&connect=20s&tls_ca=@ca.pem&tls_name=peer.example"),
                "no TLS with it");
  EXPECT_LT(Deadline::Clock::now() - Start, seconds(10));
  expectRefused(asks(Of, ""), "");
  EchoPeer Expired(at("grpc:127.0.0.1:0?tls_cert=@old.pem&tls_key=@old.key"));
  expectRefused(asks(Expired, "&tls_ca=@ca.pem"), "no TLS with it");
  EchoPeer Plain("grpc:127.0.0.1:0");
  expectRefused(asks(Plain, "&tls_ca=@ca.pem"), "no TLS with it");
  EXPECT_EQ(Of.seen(), 1u);
}

TEST_F(SecurityTest, TlsWithATokenOverASocket) {
  EchoPeer Of(at("grpc:unix:@socket?tls_cert=@named.pem&tls_key=@named.key"
                 "&token_file=@token"));
  std::string Tls = "&tls_ca=@ca.pem&tls_name=peer.example";
  Status S = asks(Of, Tls + "&token_file=@token");
  EXPECT_TRUE(S.ok()) << S.toString();
  expectRefused(asks(Of, Tls + "&token_file=@wrong"), " refuses: ");
}

TEST_F(SecurityTest, APeerKnowsItsCompilersByTls) {
  EchoPeer Of(at("grpc:127.0.0.1:0?tls_cert=@peer.pem&tls_key=@peer.key"
                 "&tls_ca=@ca.pem"));
  Status S = asks(Of, "&tls_ca=@ca.pem&tls_cert=@compiler.pem"
                      "&tls_key=@compiler.key");
  EXPECT_TRUE(S.ok()) << S.toString();
  expectRefused(asks(Of, "&tls_ca=@ca.pem"), "");
  expectRefused(asks(Of, "&tls_ca=@ca.pem&tls_cert=@compiler.pem"
                         "&tls_key=@peer.key"),
                "tls_key= may not be the key of tls_cert=");
  expectRefused(asks(Of, "&tls_ca=@ca.pem&tls_cert=@stranger.pem"
                         "&tls_key=@stranger.key"),
                "");
  EXPECT_EQ(Of.seen(), 1u);
}

TEST_F(SecurityTest, OptionsThatMakeNoSense) {
  for (const char *Options :
       {"tls_cert=@peer.pem", "tls_key=@peer.key", "tls_name=x",
        "tls_cert=@peer.pem&tls_key=@peer.key",
        "tls_ca=", "token_file=", "tls_ca=@ca.pem&tls_name="}) {
    Status S = askOnce(at(std::string("grpc:127.0.0.1:1?") + Options));
    EXPECT_EQ(S.code(), StatusCode::InvalidArgument)
        << Options << ": " << S.toString();
  }
  for (const char *Options :
       {"tls_cert=@peer.pem", "tls_key=@peer.key", "tls_ca=@ca.pem",
        "tls_name=x", "connect=1s", "spawn=x"}) {
    Status S = serves(std::string("grpc:127.0.0.1:0?") + Options);
    EXPECT_EQ(S.code(), StatusCode::InvalidArgument)
        << Options << ": " << S.toString();
  }
  Status S = askOnce(at("grpc:127.0.0.1:1?on_error=fail&tls_ca=@token"));
  EXPECT_EQ(S.code(), StatusCode::Io);
  EXPECT_NE(S.message().find("no PEM"), std::string::npos) << S.toString();
  S = serves("grpc:127.0.0.1:0?tls_cert=@peer.pem&tls_key=@named.key");
  EXPECT_EQ(S.code(), StatusCode::Unavailable) << S.toString();
}

TEST_F(SecurityTest, ACompilerThatServesKnowsItsTrainer) {
  std::string Compiler =
      at("grpc:127.0.0.1:0?role=server&on_error=fail&announce=@address&tls_ca="
         "@ca.pem&tls_cert=@peer.pem&tls_key=@peer.key&token_file=@token");
  const std::string Trainer = "grpc:?role=client&announce=@address";
  const std::string Right = "&tls_ca=@ca.pem&tls_cert=@compiler.pem&tls_key="
                            "@compiler.key&token_file=@token";
  {
    EchoPeer Of(at(Trainer + Right));
    Status S = askOnce(Compiler + "&timeout=10s");
    EXPECT_TRUE(S.ok()) << S.toString();
  }
  // In the clear, without a certificate, with a stranger's, with no token.
  for (const char *Wrong :
       {"&token_file=@token", "&tls_ca=@ca.pem&token_file=@token",
        "&tls_ca=@ca.pem&tls_cert=@stranger.pem&tls_key=@stranger.key"
        "&token_file=@token",
        "&tls_ca=@ca.pem&tls_cert=@compiler.pem&tls_key=@compiler.key"}) {
    EchoPeer Of(at(Trainer + Wrong));
    Status S = askOnce(Compiler + "&timeout=300ms");
    EXPECT_EQ(S.code(), StatusCode::Timeout) << Wrong << S.toString();
    EXPECT_EQ(Of.seen(), 0u) << Wrong;
  }
}
