//===- Security.h - Who may talk to whom by gRPC ----------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULES_GRPC_SECURITY_H
#define CBRIDGE_MODULES_GRPC_SECURITY_H

#include <cbridge/Expected.h>
#include <cbridge/RunnerString.h>

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <grpcpp/client_context.h>

namespace cbridge {

struct GrpcAddress;

/// TLS and the bearer token of an address: `tls_ca=`, `tls_cert=`, `tls_key=`,
/// `tls_name=`, `token_file=`. Files are read when it is made; messages name
/// them, and never hold what is in them.
class Security {
public:
  /// Of the end that connects.
  static Expected<Security> ofClient(const RunnerString &Address);
  /// Of the end that binds Where. Refuses one that others can reach if there is
  /// neither TLS nor a token.
  static Expected<Security> ofServer(const RunnerString &Address,
                                     const GrpcAddress &Where);

  std::shared_ptr<grpc::ChannelCredentials> clientCredentials() const;
  std::shared_ptr<grpc::ServerCredentials> serverCredentials() const;
  /// Adds the token to a call.
  void sign(grpc::ClientContext &To) const;
  /// Whether a call with this metadata has the token, if there is one. Takes
  /// equally long for every wrong one.
  bool allows(
      const std::multimap<grpc::string_ref, grpc::string_ref> &Metadata) const;
  /// The name that the server's certificate must have, or empty.
  const std::string &serverName() const { return ServerName; }
  bool usesTls() const { return Tls; }
  bool hasCertificate() const { return !Certificate.empty(); }

private:
  static Expected<Security> read(const RunnerString &Address);

  std::string Authorities, Certificate, Key, Token, ServerName;
  bool Tls = false;
};

} // namespace cbridge

#endif // CBRIDGE_MODULES_GRPC_SECURITY_H
