//===- Security.cpp - Who may be at the other end of a call ---------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "modules/grpc/Security.h"

#include "modules/grpc/Grpc.h"
#include "os/File.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace cbridge {

namespace {

constexpr const char TokenKey[] = "authorization";
constexpr std::string_view Scheme = "Bearer ";
/// gRPC refuses calls with more than 8 KiB of metadata.
constexpr size_t MaxToken = 4096;
/// All authorities of a system are a quarter of that.
constexpr size_t MaxPem = size_t(1) << 20;

/// Never tells the content.
Status badFile(std::string_view Option, const std::string &Path,
               const std::string &Why) {
  return Status::error(StatusCode::Io,
                       std::string(Option) + "=" + Path + ": " + Why);
}

Expected<std::string> readSmallFile(std::string_view Option,
                                    const std::string &Path, size_t Most) {
  // Not to wait for the writer of a FIFO.
  Expected<os::File> File = os::openFile(Path, O_RDONLY | O_NONBLOCK);
  if (!File)
    return File.status().withContext(std::string(Option));
  struct stat Info;
  if (::fstat(File->get(), &Info) != 0 || !S_ISREG(Info.st_mode))
    return badFile(Option, Path, "not a file");
  std::string Text;
  unsigned char Part[4096];
  for (;;) {
    os::Transfer T = os::readSome(File->get(), {Part, sizeof(Part)});
    if (T.Kind == os::Transfer::Closed)
      return Text;
    if (T.Kind != os::Transfer::Done)
      return badFile(Option, Path, "cannot be read");
    Text.append(reinterpret_cast<char *>(Part), T.Size);
    if (Text.size() > Most)
      return badFile(Option, Path,
                     "longer than " + std::to_string(Most) + " bytes");
  }
}

/// A certificate or key, if the option is given.
Status readPem(const RunnerString &Address, std::string_view Option,
               std::string &To) {
  if (!Address.has(Option))
    return Status();
  std::string Path = Address.option(Option);
  if (Path.empty())
    return Address.errorAt(Option, "expected a file");
  Expected<std::string> Text = readSmallFile(Option, Path, MaxPem);
  if (!Text)
    return Text.status();
  if (Text->find("-----BEGIN ") == Text->npos)
    return badFile(Option, Path, "there is no PEM in it");
  To = std::move(*Text);
  return Status();
}

Status readToken(const RunnerString &Address, std::string &To) {
  constexpr std::string_view Option = "token_file";
  if (!Address.has(Option))
    return Status();
  std::string Path = Address.option(Option);
  if (Path.empty())
    return Address.errorAt(Option, "expected a file");
  Expected<std::string> Text = readSmallFile(Option, Path, MaxToken);
  if (!Text)
    return Text.status();
  constexpr const char White[] = " \t\r\n\v\f";
  size_t First = Text->find_first_not_of(White);
  if (First == Text->npos)
    return badFile(Option, Path, "there is no token in it");
  To = Text->substr(First, Text->find_last_not_of(White) + 1 - First);
  for (char C : To)
    if (C < ' ' || C > '~')
      return badFile(Option, Path,
                     "a token has printable ASCII characters only");
  return Status();
}

Status needsOther(const RunnerString &Address, std::string_view Option,
                  std::string_view Other) {
  if (!Address.has(Option) || Address.has(Other))
    return Status();
  return Address.errorAt(Option, std::string(Option) + " needs " +
                                     std::string(Other) + ", too");
}

} // namespace

Expected<Security> Security::read(const RunnerString &Address) {
  Security S;
  Status Failed = needsOther(Address, "tls_cert", "tls_key");
  if (Failed.ok())
    Failed = needsOther(Address, "tls_key", "tls_cert");
  if (Failed.ok())
    Failed = readPem(Address, "tls_ca", S.Authorities);
  if (Failed.ok())
    Failed = readPem(Address, "tls_cert", S.Certificate);
  if (Failed.ok())
    Failed = readPem(Address, "tls_key", S.Key);
  if (Failed.ok())
    Failed = readToken(Address, S.Token);
  if (!Failed.ok())
    return Failed;
  return S;
}

Expected<Security> Security::ofClient(const RunnerString &Address) {
  // Without authorities, a certificate would be shown to anybody.
  if (Status S = needsOther(Address, "tls_cert", "tls_ca"); !S)
    return S;
  if (Status S = needsOther(Address, "tls_name", "tls_ca"); !S)
    return S;
  if (Address.has("tls_name") && Address.option("tls_name").empty())
    return Address.errorAt("tls_name", "expected the name of a certificate");
  Expected<Security> S = read(Address);
  if (!S)
    return S;
  S->ServerName = Address.option("tls_name");
  S->Tls = Address.has("tls_ca");
  return S;
}

Expected<Security> Security::ofServer(const RunnerString &Address,
                                      const GrpcAddress &Where) {
  if (Status S = needsOther(Address, "tls_ca", "tls_cert"); !S)
    return S;
  Expected<Security> S = read(Address);
  if (!S)
    return S;
  S->Tls = Address.has("tls_cert");
  if (!S->Tls && S->Token.empty() && !Where.isLocal())
    return Address.errorAtTarget(
        "anybody who reaches this address could be the other end; serve "
        "127.0.0.1 or unix:PATH, or demand token_file=, or tls_cert= and "
        "tls_key= with tls_ca=");
  return S;
}

std::shared_ptr<grpc::ChannelCredentials> Security::clientCredentials() const {
  if (!Tls)
    return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions Options;
  Options.pem_root_certs = Authorities;
  Options.pem_private_key = Key;
  Options.pem_cert_chain = Certificate;
  return grpc::SslCredentials(Options);
}

std::shared_ptr<grpc::ServerCredentials> Security::serverCredentials() const {
  if (!Tls)
    return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions Options(
      Authorities.empty()
          ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
          : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  Options.pem_root_certs = Authorities;
  Options.pem_key_cert_pairs.push_back({Key, Certificate});
  return grpc::SslServerCredentials(Options);
}

void Security::sign(grpc::ClientContext &To) const {
  if (!Token.empty())
    To.AddMetadata(TokenKey, std::string(Scheme) + Token);
}

bool Security::allows(
    const std::multimap<grpc::string_ref, grpc::string_ref> &Metadata) const {
  if (Token.empty())
    return true;
  const std::string Wanted = std::string(Scheme) + Token;
  bool Allowed = false;
  auto [First, Last] = Metadata.equal_range(TokenKey);
  for (auto Each = First; Each != Last; ++Each) {
    const grpc::string_ref &Given = Each->second;
    // Looks at all of it, whatever is wrong with it.
    size_t Differs = Given.size() ^ Wanted.size();
    for (size_t I = 0; I < Given.size(); ++I)
      Differs |= static_cast<unsigned char>(Given.data()[I] ^
                                            Wanted[I % Wanted.size()]);
    Allowed |= Differs == 0;
  }
  return Allowed;
}

} // namespace cbridge
