//===- SocketListener.h - Compilers that come by a Unix socket --*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_CHANNEL_SOCKETLISTENER_H
#define CBRIDGE_CHANNEL_SOCKETLISTENER_H

#include "channel/Channel.h"
#include "channel/SocketPlace.h"

#include <sys/types.h>

namespace cbridge {

/// A listener at a Unix socket: derive and say what a connection becomes. A
/// session begins with the first byte of a connection.
class SocketListener : public Listener {
public:
  SocketListener(std::string Path, const ChannelOptions &Options);
  ~SocketListener() override;
  /// Address is what the socket is called in messages.
  Status open(const std::string &Address);

  Expected<std::unique_ptr<Channel>> accept(Deadline Until) override;
  bool ready() override { return false; }
  bool beginWait(os::FileSet &Files) override;

protected:
  virtual std::unique_ptr<Channel> makeSession(os::File Connected,
                                               size_t MaxMessage) = 0;

private:
  Status nobodyCame() const;
  Status noneNow();
  os::File takeSpeaking(const os::FileSet &Files);

  const std::string Path;
  const ChannelOptions Options;
  const pid_t Owner;
  SocketPlace Place;
  os::File Socket;
  /// Connected, but have not said anything: not sessions yet.
  static constexpr size_t MostSilent = 256;
  std::vector<os::File> Silent;
  os::Backoff OutOfFiles;
};

} // namespace cbridge

#endif // CBRIDGE_CHANNEL_SOCKETLISTENER_H
