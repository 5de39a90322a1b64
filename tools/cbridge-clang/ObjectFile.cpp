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
#include <vector>

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

/// The sections of a file; Header, Section and Symbol are those of 32 or of 64
/// bits.
template <typename Header, typename Section, typename Symbol> class Sections {
public:
  static Expected<Sections> of(Bytes Elf, bool BigEndian);

  uint64_t loadedBytes() const;
  Status addFunctions(std::map<std::string, uint64_t> &Sizes) const;

private:
  Sections(Bytes Elf, bool BigEndian) : Elf(Elf), BigEndian(BigEndian) {}
  template <typename T> uint64_t number(T Value) const {
    return numberOf(Value, BigEndian);
  }
  /// What is in a section; all were found to be inside the file.
  Bytes content(const Section &Of) const {
    return {Elf.data() + number(Of.sh_offset), size_t(number(Of.sh_size))};
  }

  Bytes Elf;
  bool BigEndian;
  std::vector<Section> All;
};

template <typename Header, typename Section, typename Symbol>
Expected<Sections<Header, Section, Symbol>>
Sections<Header, Section, Symbol>::of(Bytes Elf, bool BigEndian) {
  Sections Found(Elf, BigEndian);
  auto Number = [&](auto Value) { return Found.number(Value); };
  Header H;
  if (Elf.size() < sizeof(H))
    return damaged();
  std::memcpy(&H, Elf.data(), sizeof(H));
  uint64_t Table = Number(H.e_shoff), Step = Number(H.e_shentsize),
           Count = Number(H.e_shnum);
  if (Table == 0)
    return Found; // no sections
  if (Table > Elf.size() || Step < sizeof(Section))
    return damaged();
  auto Fits = [&](uint64_t I) {
    return Elf.size() - Table >= sizeof(Section) &&
           I <= (Elf.size() - Table - sizeof(Section)) / Step;
  };
  auto Read = [&](uint64_t I) {
    Section Each;
    std::memcpy(&Each, Elf.data() + Table + I * Step, sizeof(Each));
    return Each;
  };
  if (Count == 0) { // too many for 16 bits
    if (!Fits(0))
      return damaged();
    Count = Number(Read(0).sh_size);
  }
  if (Count != 0 && !Fits(Count - 1))
    return damaged();
  for (uint64_t I = 0; I < Count; ++I) {
    Section Each = Read(I);
    uint64_t At = Number(Each.sh_offset), Size = Number(Each.sh_size);
    uint64_t Type = Number(Each.sh_type);
    if (Type != SHT_NULL && Type != SHT_NOBITS &&
        (At > Elf.size() || Size > Elf.size() - At))
      return damaged();
    Found.All.push_back(Each);
  }
  return Found;
}

template <typename Header, typename Section, typename Symbol>
uint64_t Sections<Header, Section, Symbol>::loadedBytes() const {
  uint64_t Sum = 0;
  for (const Section &Each : All) {
    uint64_t Type = number(Each.sh_type);
    if (number(Each.sh_flags) & SHF_ALLOC && Type != SHT_NULL &&
        Type != SHT_NOBITS)
      Sum += number(Each.sh_size);
  }
  return Sum;
}

template <typename Header, typename Section, typename Symbol>
Status Sections<Header, Section, Symbol>::addFunctions(
    std::map<std::string, uint64_t> &Sizes) const {
  for (const Section &Table : All) {
    if (number(Table.sh_type) != SHT_SYMTAB)
      continue;
    uint64_t Link = number(Table.sh_link);
    if (Link >= All.size() || number(All[Link].sh_type) != SHT_STRTAB)
      return damaged();
    Bytes Names = content(All[Link]), Symbols = content(Table);
    // So that every name in it ends.
    if (Names.empty() || Names[Names.size() - 1] != 0)
      return damaged();
    for (size_t At = 0; At + sizeof(Symbol) <= Symbols.size();
         At += sizeof(Symbol)) {
      Symbol Each;
      std::memcpy(&Each, Symbols.data() + At, sizeof(Each));
      if (ELF64_ST_TYPE(Each.st_info) != STT_FUNC || number(Each.st_size) == 0)
        continue;
      uint64_t Name = number(Each.st_name);
      if (Name >= Names.size())
        return damaged();
      Sizes[reinterpret_cast<const char *>(Names.data() + Name)] =
          number(Each.st_size);
    }
  }
  return Status();
}

/// Calls Use with the sections of a file.
template <typename Fn> Status withSections(Bytes Elf, Fn Use) {
  if (Elf.size() < EI_NIDENT || std::memcmp(Elf.data(), ELFMAG, SELFMAG) != 0)
    return Status::error(StatusCode::InvalidArgument, "is no ELF file");
  unsigned Class = Elf[EI_CLASS], Order = Elf[EI_DATA];
  if (Order != ELFDATA2LSB && Order != ELFDATA2MSB)
    return damaged();
  auto Apply = [&](auto Found) { return Found ? Use(*Found) : Found.status(); };
  bool BigEndian = Order == ELFDATA2MSB;
  if (Class == ELFCLASS64)
    return Apply(
        Sections<Elf64_Ehdr, Elf64_Shdr, Elf64_Sym>::of(Elf, BigEndian));
  if (Class == ELFCLASS32)
    return Apply(
        Sections<Elf32_Ehdr, Elf32_Shdr, Elf32_Sym>::of(Elf, BigEndian));
  return damaged();
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

Expected<ObjectSizes> ObjectSizes::of(Bytes Elf) {
  ObjectSizes Sizes;
  Status S = withSections(Elf, [&](const auto &Found) {
    Sizes.Loaded = Found.loadedBytes();
    return Found.addFunctions(Sizes.Functions);
  });
  return S.ok() ? Expected<ObjectSizes>(std::move(Sizes)) : S;
}

Expected<ObjectSizes> ObjectSizes::ofFile(const std::string &Path) {
  Expected<os::FileContent> Content = os::readFile(Path, MaxSize);
  if (!Content)
    return Content.status();
  Expected<ObjectSizes> Sizes = of(Content->bytes());
  return Sizes ? std::move(Sizes) : Sizes.status().withContext(Path);
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
