//===- ModuleChannel.cpp - A channel of a module --------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Adapters.h"

namespace cbridge::c {

namespace {

struct ChannelType {
  cbridge_channel_type C;
  std::string Who;
};
using Type = std::shared_ptr<const ChannelType>;

/// Whatever a module says, a channel that failed is of no use.
Status asTransport(Status S) {
  if (S.ok() || S.isTransport())
    return S;
  return Status::error(StatusCode::Io, S.message());
}

class ModuleChannel : public Channel {
public:
  ModuleChannel(Type Given, void *Handle)
      : Of(std::move(Given)), C(Of->C), Handle(Handle),
        Name(text(C.name(Handle))) {}
  ~ModuleChannel() override { C.close(Handle); }

  Status send(FrameHeader Header, const Message &Payload,
              Deadline Until) override {
    Header.Length = Payload.size();
    unsigned char Encoded[FrameHeader::Size];
    Header.encode(Encoded);
    Pieces.clear();
    if (!Payload.own().empty())
      Pieces.push_back(bytes(Payload.own()));
    for (Bytes Piece : Payload.lent())
      Pieces.push_back(bytes(Piece));
    Error.message[0] = 0;
    return asTransport(status(C.send(Handle, Encoded, Pieces.data(),
                                     Pieces.size(), deadline(Until), &Error),
                              Error, Of->Who));
  }

  Expected<Frame> receive(Deadline Until) override {
    cbridge_frame Came = {};
    Came.size = sizeof(Came);
    Error.message[0] = 0;
    if (Status S = status(C.receive(Handle, deadline(Until), &Came, &Error),
                          Error, Of->Who);
        !S)
      return asTransport(S);
    auto Wrong = [this](const std::string &Why) {
      return Status::error(StatusCode::Protocol, Name + ": " + Why);
    };
    if (!Came.header || (!Came.payload.data && Came.payload.size) ||
        (!Came.lent && Came.lent_count))
      return Wrong(Of->Who + " gives a frame without its bytes");
    Expected<FrameHeader> Header = FrameHeader::decode(Came.header);
    if (!Header)
      return Header.status().withContext(Name);
    Lent.clear();
    size_t Size = Came.payload.size;
    for (size_t I = 0; I < Came.lent_count; ++I) {
      Lent.push_back(bytes(Came.lent[I]));
      Size += Lent.back().size();
    }
    if (Size != Header->Length)
      return Wrong(Of->Who + " gives " + std::to_string(Size) +
                   " bytes of payload, its header " +
                   std::to_string(Header->Length));
    if (reinterpret_cast<uintptr_t>(Came.payload.data) % TensorAlignment)
      return Wrong(Of->Who + " gives a payload that is not aligned");
    return Frame{*Header, bytes(Came.payload), Lent};
  }

  std::shared_ptr<const void> keepPayload() override {
    return {C.keep(Handle), [Of = Of](void *Kept) {
              if (Kept)
                Of->C.release(Kept);
            }};
  }
  const std::string &name() const override { return Name; }
  bool gone() override { return C.gone && C.gone(Handle) != 0; }
  bool ready() override { return C.ready(Handle) != 0; }
  bool beginWait(os::FileSet &Files) override {
    cbridge_files To{Files};
    return C.begin_wait(Handle, &To) != 0;
  }
  void endWait(bool Woken) override {
    if (C.end_wait)
      C.end_wait(Handle, Woken);
  }
  os::Spin spinning() const override {
    int How = C.spinning ? C.spinning(Handle) : 0;
    return How >= 0 && How <= int(os::Spin::Look) ? os::Spin(How)
                                                  : os::Spin::Not;
  }
  void lendPayloads() override {
    if (C.lend_payloads)
      C.lend_payloads(Handle);
  }
  void abandon(Deadline Until) override {
    if (C.abandon)
      C.abandon(Handle, deadline(Until));
  }

private:
  const Type Of;
  const cbridge_channel_type &C;
  void *const Handle;
  const std::string Name;
  std::vector<cbridge_bytes> Pieces;
  std::vector<Bytes> Lent;
  cbridge_error Error;
};

class ModuleListener : public Listener {
public:
  ModuleListener(Type Given, void *Handle)
      : Of(std::move(Given)), C(Of->C), Handle(Handle) {}
  ~ModuleListener() override { C.close_listener(Handle); }

  Expected<std::unique_ptr<Channel>> accept(Deadline Until) override {
    void *Came = nullptr;
    cbridge_error Error = {};
    if (Status S = status(C.accept(Handle, deadline(Until), &Came, &Error),
                          Error, Of->Who);
        !S)
      return S;
    return std::make_unique<ModuleChannel>(Of, Came);
  }
  bool ready() override { return C.listener_ready(Handle) != 0; }
  bool beginWait(os::FileSet &Files) override {
    cbridge_files To{Files};
    return C.listener_begin_wait(Handle, &To) != 0;
  }
  void endWait(bool Woken) override {
    if (C.listener_end_wait)
      C.listener_end_wait(Handle, Woken);
  }
  std::string address() const override {
    if (!C.listener_address)
      return "";
    return std::string(text(C.listener_address(Handle)));
  }

private:
  const Type Of;
  const cbridge_channel_type &C;
  void *const Handle;
};

template <typename Made, typename Opened>
Expected<std::unique_ptr<Opened>>
openWith(decltype(cbridge_channel_type::connect) Open, const Type &Of,
         const RunnerString &R, const ChannelOptions &Given) {
  cbridge_address Address{R, {}};
  cbridge_channel_options Options = {sizeof(Options), deadline(Given.Until),
                                     Given.MaxMessage, Given.Lifeline};
  void *Handle = nullptr;
  cbridge_error Error = {};
  if (Status S =
          status(Open(&Address, &Options, &Handle, &Error), Error, Of->Who);
      !S)
    return S;
  return std::make_unique<Made>(Of, Handle);
}

} // namespace

Expected<ChannelScheme> channelScheme(const cbridge_channel_type *Theirs,
                                      const std::string &Who) {
  auto Of = std::make_shared<ChannelType>(ChannelType{copied(Theirs), Who});
  const cbridge_channel_type &C = Of->C;
  if (!C.scheme)
    return lacks(Who, "a channel", "scheme");
  const char *Missing = !C.connect               ? "connect"
                        : !C.listen              ? "listen"
                        : !C.close               ? "close"
                        : !C.name                ? "name"
                        : !C.send                ? "send"
                        : !C.receive             ? "receive"
                        : !C.keep                ? "keep"
                        : !C.release             ? "release"
                        : !C.ready               ? "ready"
                        : !C.begin_wait          ? "begin_wait"
                        : !C.close_listener      ? "close_listener"
                        : !C.accept              ? "accept"
                        : !C.listener_ready      ? "listener_ready"
                        : !C.listener_begin_wait ? "listener_begin_wait"
                                                 : nullptr;
  if (Missing)
    return lacks(Who, C.scheme, Missing);
  return ChannelScheme{
      C.scheme,
      C.help ? C.help : "",
      keyList(C.keys),
      C.many_sessions != 0,
      [Of](const RunnerString &R, const ChannelOptions &Options) {
        return openWith<ModuleChannel, Channel>(Of->C.connect, Of, R, Options);
      },
      [Of](const RunnerString &R, const ChannelOptions &Options) {
        return openWith<ModuleListener, Listener>(Of->C.listen, Of, R, Options);
      },
      C.serdes ? C.serdes : "",
      keyList(C.listen_keys)};
}

} // namespace cbridge::c
