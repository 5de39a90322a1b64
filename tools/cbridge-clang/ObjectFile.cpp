//===- ObjectFile.cpp - How large an object is, and where it goes ---------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ObjectFile.h"

#include "Spool.h"

#include "os/ReadFile.h"

#include <cstdio>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cbridge::driver {

namespace {

constexpr size_t MaxSize = size_t(4) << 30;

Status damaged() {
  return Status::error(StatusCode::InvalidArgument, "is a damaged ELF file");
}

/// A number of the file, whose byte order is its own.
template <typename T> uint64_t numberOf(T Value, bool BigEndian) {
  if (!BigEndian)
    return Value;
  uint64_t Swapped = 0;
  for (size_t I = 0; I < sizeof(T); ++I)
    Swapped |= (uint64_t(Value) >> (8 * I) & 0xFF) << (8 * (sizeof(T) - 1 - I));
  return Swapped;
}

/// Of a file with 32 or 64 bits.
template <typename Header, typename Section>
Expected<uint64_t> sumOf(Bytes Elf, bool BigEndian) {
  auto Number = [BigEndian](auto Value) { return numberOf(Value, BigEndian); };
  Header H;
  if (Elf.size() < sizeof(H))
    return damaged();
  std::memcpy(&H, Elf.data(), sizeof(H));
  uint64_t Table = Number(H.e_shoff), Step = Number(H.e_shentsize),
           Count = Number(H.e_shnum), Sum = 0;
  if (Table == 0)
    return Sum; // no sections
  if (Table > Elf.size() || Step < sizeof(Section))
    return damaged();
  Section Each;
  auto Fits = [&](uint64_t I) {
    return Elf.size() - Table >= sizeof(Section) &&
           I <= (Elf.size() - Table - sizeof(Section)) / Step;
  };
  auto Read = [&](uint64_t I) {
    std::memcpy(&Each, Elf.data() + Table + I * Step, sizeof(Each));
  };
  if (Count == 0) { // too many for 16 bits
    if (!Fits(0))
      return damaged();
    Read(0);
    Count = Number(Each.sh_size);
  }
  if (Count != 0 && !Fits(Count - 1))
    return damaged();
  for (uint64_t I = 0; I < Count; ++I) {
    Read(I);
    if (!(Number(Each.sh_flags) & SHF_ALLOC) ||
        Number(Each.sh_type) == SHT_NOBITS)
      continue;
    uint64_t Size = Number(Each.sh_size);
    if (Size > Elf.size())
      return damaged();
    Sum += Size;
  }
  return Sum;
}

std::string folderOf(const std::string &Path) {
  size_t Slash = Path.rfind('/');
  return Slash == Path.npos ? "./" : Path.substr(0, Slash + 1);
}

Status fill(const os::File &To, Bytes Content) {
  if (Status S = writeAll(To.get(), Content); !S)
    return S;
  // Some file systems tell only now that there is no room.
  int Copy = ::dup(To.get());
  return Copy >= 0 && ::close(Copy) == 0 ? Status()
                                         : os::lastError("cannot write");
}

} // namespace

Expected<uint64_t> loadedBytes(Bytes Elf) {
  if (Elf.size() < EI_NIDENT || std::memcmp(Elf.data(), ELFMAG, SELFMAG) != 0)
    return Status::error(StatusCode::InvalidArgument, "is no ELF file");
  unsigned Class = Elf.data()[EI_CLASS], Order = Elf.data()[EI_DATA];
  if (Order != ELFDATA2LSB && Order != ELFDATA2MSB)
    return damaged();
  bool BigEndian = Order == ELFDATA2MSB;
  if (Class == ELFCLASS64)
    return sumOf<Elf64_Ehdr, Elf64_Shdr>(Elf, BigEndian);
  if (Class == ELFCLASS32)
    return sumOf<Elf32_Ehdr, Elf32_Shdr>(Elf, BigEndian);
  return damaged();
}

Expected<uint64_t> loadedBytesOf(const std::string &Path) {
  Expected<os::FileContent> Content = os::readFile(Path, MaxSize);
  if (!Content)
    return Content.status();
  Expected<uint64_t> Size = loadedBytes(Content->bytes());
  return Size ? Size : Size.status().withContext(Path);
}

bool canBeReplaced(const std::string &Path) {
  struct stat Info;
  if (::stat(Path.c_str(), &Info) == 0 &&
      (!S_ISREG(Info.st_mode) || ::access(Path.c_str(), W_OK) != 0))
    return false;
  return ::access(folderOf(Path).c_str(), W_OK | X_OK) == 0;
}

Status replaceFile(const std::string &From, const std::string &To) {
  Expected<os::FileContent> Content = os::readFile(From, MaxSize);
  if (!Content)
    return Content.status();
  std::string Beside =
      folderOf(To) + ".cbridge-" + std::to_string(os::randomId()) + ".tmp";
  constexpr int Everybody =
      S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  Expected<os::File> Made =
      os::openFile(Beside, O_WRONLY | O_CREAT | O_EXCL, Everybody);
  if (!Made)
    return Made.status();
  Status S = fill(*Made, Content->bytes());
  if (S.ok() && std::rename(Beside.c_str(), To.c_str()) != 0)
    S = os::lastError(To);
  if (!S.ok())
    ::unlink(Beside.c_str());
  return S;
}

} // namespace cbridge::driver
