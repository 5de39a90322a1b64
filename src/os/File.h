//===- File.h - File descriptors and waiting for them -----------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_OS_FILE_H
#define CBRIDGE_OS_FILE_H

#include <cbridge/Deadline.h>
#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <string>
#include <utility>

namespace cbridge::os {

/// Owns a file descriptor. Move-only.
class File {
public:
  File() = default;
  explicit File(int Descriptor) : Descriptor(Descriptor) {}
  File(File &&Other) noexcept
      : Descriptor(std::exchange(Other.Descriptor, -1)) {}
  File &operator=(File &&Other) noexcept {
    std::swap(Descriptor, Other.Descriptor);
    return *this;
  }
  ~File() { close(); }

  int get() const { return Descriptor; }
  explicit operator bool() const { return Descriptor >= 0; }
  void close();

private:
  int Descriptor = -1;
};

/// "what: strerror" for the current errno.
Status lastError(const std::string &What);

/// The same file under a number above those of the standard files: a program
/// that has closed one of them may still print to it.
File aboveStandard(File F);

/// open(2) with O_CLOEXEC, again after EINTR. The error's errno is kept in
/// *Errno if that is given.
Expected<File> openFile(const std::string &Path, int Flags, int Mode = 0,
                        int *Errno = nullptr);

enum class Ready {
  Yes,       ///< the file can be read or written, or has hung up
  Timeout,   ///< the deadline passed first
  Cancelled, ///< Cancel hung up first
};
/// Waits until File can be read (or written) without blocking. Cancel may be
/// -1.
Ready waitReadable(int File, Deadline Until, int Cancel = -1);
Ready waitWritable(int File, Deadline Until, int Cancel = -1);

/// Lets other runnable threads of this core go first.
void yield();
/// Whether all writers of a pipe have closed it.
bool hungUp(int Pipe);
/// Bytes that can be read without waiting.
size_t bytesAvailable(int File);

/// What a read or write of a non-blocking file came to.
struct Transfer {
  enum { Done, WouldBlock, Closed, Failed } Kind;
  size_t Size; ///< bytes moved, if Done
};
/// One read(2); Closed at the end of the file.
Transfer readSome(int File, MutableBytes To);
/// One writev(2); Closed if the reader is gone. Raises SIGPIPE then, as
/// write(2) does: for files that cannot break, such as a FIFO that we also
/// read.
Transfer writeSome(int File, Span<const Bytes> Pieces);

/// Sleeps for a time that doubles from call to call, up to 5 ms: for conditions
/// that nothing can signal.
class Backoff {
public:
  /// False once the deadline has passed.
  bool pause(Deadline Until);

private:
  std::chrono::nanoseconds Next{20'000};
};

/// Unpredictable bits; never 0.
uint64_t randomId();
/// Another number after a fork, in the child. Costs no system call.
uint64_t processMark();

/// A directory that only this user can enter, made under TMPDIR.
Expected<std::string> makePrivateDirectory();
/// Removes a directory of ours and all that is in it.
void removeDirectory(const std::string &Path);

} // namespace cbridge::os

#endif // CBRIDGE_OS_FILE_H
