//===- Socket.cpp - Unix sockets that carry files -------------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Socket.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace cbridge::os {

namespace {

constexpr size_t FilesAtOnce = 8;

/// The address of a socket whose path may be too long for one: then it goes by
/// its directory, which this keeps open.
struct UnixAddress {
  sockaddr_un Name = {};
  File Directory;

  Status set(const std::string &Path, int *Errno = nullptr) {
    Name.sun_family = AF_UNIX;
    std::string Short = Path;
    if (Path.size() >= sizeof(Name.sun_path)) {
      size_t Slash = Path.rfind('/');
      Expected<File> Parent =
          openFile(Slash == Path.npos ? "." : Path.substr(0, Slash + 1),
                   O_PATH | O_DIRECTORY, 0, Errno);
      if (!Parent)
        return Parent.status();
      Directory = std::move(*Parent);
      Short = "/proc/self/fd/" + std::to_string(Directory.get()) + "/" +
              Path.substr(Slash + 1);
    }
    if (Short.size() >= sizeof(Name.sun_path))
      return Status::error(StatusCode::InvalidArgument,
                           Path + ": the name is too long for a socket");
    std::memcpy(Name.sun_path, Short.c_str(), Short.size() + 1);
    return Status();
  }
  const sockaddr *get() const {
    return reinterpret_cast<const sockaddr *>(&Name);
  }
};

bool isOurUser(const File &Socket) {
  ucred Other = {};
  socklen_t Size = sizeof(Other);
  return ::getsockopt(Socket.get(), SOL_SOCKET, SO_PEERCRED, &Other, &Size) ==
             0 &&
         Other.uid == ::geteuid();
}

File makeSocket() {
  return aboveStandard(
      File(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
}

} // namespace

Expected<File> listenUnix(const std::string &Path) {
  UnixAddress Address;
  if (Status S = Address.set(Path); !S)
    return S;
  File Socket = makeSocket();
  if (!Socket)
    return lastError("socket");
  // Before anybody can connect.
  if (::fchmod(Socket.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::bind(Socket.get(), Address.get(), sizeof(Address.Name)) != 0)
    return lastError(Path);
  if (::chmod(Path.c_str(), S_IRUSR | S_IWUSR) != 0 ||
      ::listen(Socket.get(), SOMAXCONN) != 0) {
    Status Why = lastError(Path);
    ::unlink(Path.c_str());
    return Why;
  }
  return Socket;
}

Expected<File> acceptUnix(const File &Listening, int *Errno) {
  File Socket = aboveStandard(File(::accept4(Listening.get(), nullptr, nullptr,
                                             SOCK_CLOEXEC | SOCK_NONBLOCK)));
  if (Errno)
    *Errno = Socket ? 0 : errno;
  if (!Socket)
    return Status::error(StatusCode::Timeout, lastError("accept").message());
  if (!isOurUser(Socket))
    return Status::error(StatusCode::Timeout, "another user connects");
  return Socket;
}

Expected<File> connectUnix(const std::string &Path, int *Errno) {
  UnixAddress Address;
  if (Status S = Address.set(Path, Errno); !S)
    return S;
  File Socket = makeSocket();
  int Connected = -1;
  if (Socket)
    do
      Connected = ::connect(Socket.get(), Address.get(), sizeof(Address.Name));
    while (Connected != 0 && errno == EINTR);
  *Errno = Connected == 0 ? 0 : errno;
  if (Connected != 0)
    return lastError(Path);
  if (!isOurUser(Socket))
    return Status::error(StatusCode::Io, Path + " belongs to another user");
  return Socket;
}

Status tryBind(const std::string &Host, const std::string &Port) {
  addrinfo Wanted = {}, *Found = nullptr;
  Wanted.ai_socktype = SOCK_STREAM;
  Wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  std::string Name = Host;
  if (Name.size() > 2 && Name[0] == '[')
    Name = Name.substr(1, Name.size() - 2);
  if (int Failed = ::getaddrinfo(Name.c_str(), Port.c_str(), &Wanted, &Found))
    return Status::error(StatusCode::Unavailable, ::gai_strerror(Failed));
  File Socket(
      ::socket(Found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  int Yes = 1; // as servers do
  ::setsockopt(Socket.get(), SOL_SOCKET, SO_REUSEADDR, &Yes, sizeof(Yes));
  bool Bound = ::bind(Socket.get(), Found->ai_addr, Found->ai_addrlen) == 0 &&
               ::listen(Socket.get(), 1) == 0;
  Status Why =
      Bound ? Status()
            : Status::error(StatusCode::Unavailable, std::strerror(errno));
  ::freeaddrinfo(Found);
  return Why;
}

Transfer sendSome(int Socket, Span<const Bytes> Pieces, Span<const int> Files) {
  assert(Files.size() <= FilesAtOnce);
  static_assert(sizeof(Bytes) == sizeof(iovec),
                "a Span has the layout of an iovec: pointer, length");
  alignas(cmsghdr) char Control[CMSG_SPACE(FilesAtOnce * sizeof(int))] = {};
  msghdr Message = {};
  Message.msg_iov =
      reinterpret_cast<iovec *>(const_cast<Bytes *>(Pieces.data()));
  Message.msg_iovlen = std::min<size_t>(Pieces.size(), IOV_MAX);
  if (!Files.empty()) {
    Message.msg_control = Control;
    Message.msg_controllen = CMSG_SPACE(Files.size() * sizeof(int));
    cmsghdr *Head = CMSG_FIRSTHDR(&Message);
    Head->cmsg_level = SOL_SOCKET;
    Head->cmsg_type = SCM_RIGHTS;
    Head->cmsg_len = CMSG_LEN(Files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(Head), Files.data(), Files.size() * sizeof(int));
  }
  for (;;) {
    ssize_t Size = ::sendmsg(Socket, &Message, MSG_NOSIGNAL);
    if (Size >= 0)
      return {Transfer::Done, size_t(Size)};
    if (errno == EAGAIN)
      return {Transfer::WouldBlock, 0};
    if (errno == EPIPE || errno == ECONNRESET)
      return {Transfer::Closed, 0};
    if (errno != EINTR)
      return {Transfer::Failed, 0};
  }
}

Transfer receiveSome(int Socket, MutableBytes To, std::vector<File> &Files,
                     size_t MostFiles) {
  iovec Part = {To.data(), To.size()};
  alignas(cmsghdr) char Control[CMSG_SPACE(FilesAtOnce * sizeof(int))];
  for (;;) {
    msghdr Message = {};
    Message.msg_iov = &Part;
    Message.msg_iovlen = 1;
    Message.msg_control = Control;
    Message.msg_controllen = sizeof(Control);
    ssize_t Size = ::recvmsg(Socket, &Message, MSG_CMSG_CLOEXEC);
    if (Size < 0 && errno == EINTR)
      continue;
    if (Size < 0)
      return {errno == EAGAIN       ? Transfer::WouldBlock
              : errno == ECONNRESET ? Transfer::Closed
                                    : Transfer::Failed,
              0};
    for (cmsghdr *Head = CMSG_FIRSTHDR(&Message); Head;
         Head = CMSG_NXTHDR(&Message, Head)) {
      if (Head->cmsg_level != SOL_SOCKET || Head->cmsg_type != SCM_RIGHTS)
        continue;
      size_t Count = (Head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t I = 0; I < Count; ++I) {
        int Descriptor;
        std::memcpy(&Descriptor, CMSG_DATA(Head) + I * sizeof(int),
                    sizeof(int));
        File Came = aboveStandard(File(Descriptor));
        if (Files.size() < MostFiles)
          Files.push_back(std::move(Came));
      }
    }
    // The kernel drops files for which this process has no room.
    if ((Message.msg_flags & MSG_CTRUNC) && Files.empty()) {
      errno = EMFILE;
      return {Transfer::Failed, 0};
    }
    if (Size == 0)
      return {Transfer::Closed, 0};
    return {Transfer::Done, size_t(Size)};
  }
}

bool wakeOther(int Socket) {
  // A full socket wakes as well as one more byte would.
  char Byte = 0;
  return ::send(Socket, &Byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ||
         (errno != EPIPE && errno != ECONNRESET);
}

bool clearWakes(int Socket) {
  char Dropped[1024];
  for (int Reads = 0; Reads < 256; ++Reads) {
    ssize_t Size = ::recv(Socket, Dropped, sizeof(Dropped), MSG_DONTWAIT);
    if (Size == ssize_t(sizeof(Dropped)) || (Size < 0 && errno == EINTR))
      continue;
    return Size > 0 || (Size < 0 && errno == EAGAIN);
  }
  return true;
}

} // namespace cbridge::os
