//===- RawFiles.h - A raw end over files ------------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TESTS_CONFORMANCE_RAWFILES_H
#define CBRIDGE_TESTS_CONFORMANCE_RAWFILES_H

#include "ChannelsUnderTest.h"

#include "os/File.h"

#include <algorithm>

namespace cbridge::conformance {

/// Non-blocking files to write to and to read from.
class RawFiles : public RawEnd {
public:
  using RawEnd::send;
  bool send(std::string_view Data, Deadline Until) override {
    while (!Data.empty()) {
      Bytes Left(reinterpret_cast<const unsigned char *>(Data.data()),
                 Data.size());
      os::Transfer T = os::writeSome(Write.get(), {&Left, 1});
      if (T.Kind == os::Transfer::Done)
        Data.remove_prefix(T.Size);
      else if (T.Kind != os::Transfer::WouldBlock ||
               os::waitWritable(Write.get(), Until) != os::Ready::Yes)
        return false;
    }
    return true;
  }
  bool receive(size_t Size, std::string &To, Deadline Until) override {
    unsigned char Part[4096];
    while (Size > 0) {
      if (os::waitReadable(Read.get(), Until) != os::Ready::Yes)
        return false;
      os::Transfer T =
          os::readSome(Read.get(), {Part, std::min(Size, sizeof(Part))});
      if (T.Kind == os::Transfer::WouldBlock)
        continue;
      if (T.Kind != os::Transfer::Done)
        return false;
      To.append(reinterpret_cast<char *>(Part), T.Size);
      Size -= T.Size;
    }
    return true;
  }

  os::File Lock, Read, Write;
};

inline bool take(os::File &To, Expected<os::File> From) {
  if (From)
    To = std::move(*From);
  return From.ok();
}

/// What follows the scheme.
inline std::string targetOf(const std::string &Address) {
  return Address.substr(Address.find(':') + 1);
}

} // namespace cbridge::conformance

#endif // CBRIDGE_TESTS_CONFORMANCE_RAWFILES_H
