//===- Status.cpp - Status codes and messages -----------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include <cbridge/Status.h>

#include <atomic>
#include <cassert>

namespace cbridge {

struct Status::Failure {
  std::atomic<uint32_t> References;
  StatusCode Code;
  std::string Message;
};

Status Status::error(StatusCode Code, std::string Message) {
  assert(Code != StatusCode::Ok && "an error needs a code");
  Status S;
  S.Rep = new Failure{{1}, Code, std::move(Message)};
  return S;
}

void Status::retain() noexcept {
  if (Rep)
    Rep->References.fetch_add(1, std::memory_order_relaxed);
}

void Status::release() noexcept {
  if (Rep->References.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete Rep;
}

StatusCode Status::code() const noexcept {
  return Rep ? Rep->Code : StatusCode::Ok;
}

const std::string &Status::message() const noexcept {
  // Never destroyed, so that it outlives every caller at exit.
  static const std::string *const Empty = new std::string;
  return Rep ? Rep->Message : *Empty;
}

std::string Status::toString() const {
  if (ok())
    return "ok";
  return std::string(cbridge::toString(code())) + ": " + message();
}

Status Status::withContext(const std::string &Prefix) const {
  return ok() ? Status() : error(code(), Prefix + ": " + message());
}

bool Status::isTransport() const noexcept {
  switch (code()) {
  case StatusCode::Unavailable:
  case StatusCode::Timeout:
  case StatusCode::PeerClosed:
  case StatusCode::Protocol:
  case StatusCode::Io:
  case StatusCode::Forked:
    return true;
  default:
    return false;
  }
}

const char *toString(StatusCode Code) {
  switch (Code) {
  case StatusCode::Ok:
    return "ok";
  case StatusCode::InvalidArgument:
    return "invalid_argument";
  case StatusCode::TypeMismatch:
    return "type_mismatch";
  case StatusCode::ShapeMismatch:
    return "shape_mismatch";
  case StatusCode::Abstained:
    return "abstained";
  case StatusCode::IllegalDecision:
    return "illegal_decision";
  case StatusCode::PeerError:
    return "peer_error";
  case StatusCode::Unavailable:
    return "unavailable";
  case StatusCode::Timeout:
    return "timeout";
  case StatusCode::PeerClosed:
    return "peer_closed";
  case StatusCode::Protocol:
    return "protocol";
  case StatusCode::Io:
    return "io";
  case StatusCode::OutOfMemory:
    return "out_of_memory";
  case StatusCode::Forked:
    return "forked";
  case StatusCode::Unsupported:
    return "unsupported";
  case StatusCode::ModelError:
    return "model_error";
  }
  return "unknown";
}

} // namespace cbridge
