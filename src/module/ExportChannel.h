//===- ExportChannel.h - Channels in a module's table -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of Export.h.
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_MODULE_EXPORTCHANNEL_H
#define CBRIDGE_MODULE_EXPORTCHANNEL_H

#include "module/Export.h"

namespace cbridge::exported {

/// A channel and what it needs to live behind a C table.
struct ChannelHandle {
  std::unique_ptr<Channel> Of;
  Message Payload = {};
  unsigned char Header[FrameHeader::Size] = {};
  std::vector<cbridge_bytes> Lent = {};
  os::FileSet Files = {};

  Status send(const unsigned char *Encoded, const cbridge_bytes *Pieces,
              size_t Count, Deadline Until) {
    Expected<FrameHeader> H = FrameHeader::decode(Encoded);
    if (!H)
      return H.status();
    Payload.clear();
    for (size_t I = 0; I < Count; ++I)
      Payload.lend(c::bytes(Pieces[I]));
    return Of->send(*H, Payload, Until);
  }
  Status receive(Deadline Until, cbridge_frame *To) {
    Expected<Frame> F = Of->receive(Until);
    if (!F)
      return F.status();
    F->Header.encode(Header);
    Lent.clear();
    for (Bytes Piece : F->Lent)
      Lent.push_back(c::bytes(Piece));
    To->header = Header;
    To->payload = c::bytes(F->Payload);
    To->lent = Lent.data();
    To->lent_count = Lent.size();
    return Status();
  }
};

struct ListenerHandle {
  std::unique_ptr<Listener> Of;
  std::string Address = Of->address();
  os::FileSet Files = {};
};

/// Passes the files of What on to the host.
inline int beginWait(Awaited &What, os::FileSet &Files, cbridge_files *To) {
  Files.clear();
  bool Sleep = What.beginWait(Files);
  for (size_t I = 0; I < Files.size(); ++I)
    Host->add_file(To, Files.file(I));
  return Sleep;
}

inline Channel &channel(void *H) {
  return *static_cast<ChannelHandle *>(H)->Of;
}

/// Both are (const RunnerString &, const ChannelOptions &), and give what they
/// open.
template <typename Handle, auto Open>
cbridge_code openEnd(cbridge_address *Address,
                     const cbridge_channel_options *Given, void **To,
                     cbridge_error *Error) {
  return guarded(Error, [&]() -> Status {
    Expected<RunnerString> R = parse(Address);
    if (!R)
      return R.status();
    ChannelOptions Options;
    Options.Until = c::deadline(Given->until);
    Options.MaxMessage = Given->max_message;
    Options.Lifeline = Given->lifeline;
    auto Opened = Open(*R, Options);
    if (!Opened)
      return Opened.status();
    *To = new Handle{std::move(*Opened)};
    return Status();
  });
}

/// The functions of a channel.
constexpr void fillChannel(cbridge_channel_type &T) {
  T.close = [](void *H) { delete static_cast<ChannelHandle *>(H); };
  T.name = [](void *H) { return c::text(channel(H).name()); };
  T.send = [](void *H, const unsigned char *Header, const cbridge_bytes *Pieces,
              size_t Count, int64_t Until, cbridge_error *Error) {
    return guarded(Error, [&] {
      return static_cast<ChannelHandle *>(H)->send(Header, Pieces, Count,
                                                   c::deadline(Until));
    });
  };
  T.receive = [](void *H, int64_t Until, cbridge_frame *To,
                 cbridge_error *Error) {
    return guarded(Error, [&] {
      return static_cast<ChannelHandle *>(H)->receive(c::deadline(Until), To);
    });
  };
  using Kept = std::shared_ptr<const void>;
  T.keep = [](void *H) -> void * { return new Kept(channel(H).keepPayload()); };
  T.release = [](void *K) { delete static_cast<Kept *>(K); };
  T.ready = [](void *H) { return int(channel(H).ready()); };
  T.begin_wait = [](void *H, cbridge_files *To) {
    return beginWait(channel(H), static_cast<ChannelHandle *>(H)->Files, To);
  };
  T.end_wait = [](void *H, int Woken) { channel(H).endWait(Woken != 0); };
  T.abandon = [](void *H, int64_t Until) {
    channel(H).abandon(c::deadline(Until));
  };
  T.spinning = [](void *H) { return int(channel(H).spinning()); };
  T.lend_payloads = [](void *H) { channel(H).lendPayloads(); };
  T.gone = [](void *H) { return int(channel(H).gone()); };
}

/// The functions of a listener.
constexpr void fillListener(cbridge_channel_type &T) {
  T.close_listener = [](void *H) { delete static_cast<ListenerHandle *>(H); };
  T.accept = [](void *H, int64_t Until, void **To, cbridge_error *Error) {
    return guarded(Error, [&]() -> Status {
      auto Came =
          static_cast<ListenerHandle *>(H)->Of->accept(c::deadline(Until));
      if (!Came)
        return Came.status();
      *To = new ChannelHandle{std::move(*Came)};
      return Status();
    });
  };
  T.listener_ready = [](void *H) {
    return int(static_cast<ListenerHandle *>(H)->Of->ready());
  };
  T.listener_begin_wait = [](void *H, cbridge_files *To) {
    auto *L = static_cast<ListenerHandle *>(H);
    return beginWait(*L->Of, L->Files, To);
  };
  T.listener_end_wait = [](void *H, int Woken) {
    static_cast<ListenerHandle *>(H)->Of->endWait(Woken != 0);
  };
  T.listener_address = [](void *H) {
    return c::text(static_cast<ListenerHandle *>(H)->Address);
  };
}

/// `Name:`, by a connect and a listen function as ChannelScheme has them. Keys
/// ends with null. Serdes is the serializer of strings that name none, or null.
/// ListenKeys are for addresses to listen at.
template <auto Connect, auto Listen>
constexpr cbridge_channel_type
exportChannel(const char *Name, const char *Help, const char *const *Keys,
              bool ManySessions, const char *Serdes = nullptr,
              const char *const *ListenKeys = nullptr) {
  cbridge_channel_type T = {};
  T.size = sizeof(T);
  T.scheme = Name;
  T.help = Help;
  T.keys = Keys;
  T.many_sessions = ManySessions;
  T.serdes = Serdes;
  T.listen_keys = ListenKeys;
  T.connect = openEnd<ChannelHandle, Connect>;
  T.listen = openEnd<ListenerHandle, Listen>;
  fillChannel(T);
  fillListener(T);
  return T;
}

} // namespace cbridge::exported

#endif // CBRIDGE_MODULE_EXPORTCHANNEL_H
