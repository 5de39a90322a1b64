//===- ElfSections.h - What is in an ELF file -------------------*- C++ -*-===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef CBRIDGE_TOOLS_CBRIDGE_CLANG_ELFSECTIONS_H
#define CBRIDGE_TOOLS_CBRIDGE_CLANG_ELFSECTIONS_H

#include <cbridge/Expected.h>
#include <cbridge/Span.h>

#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>

namespace cbridge::driver {

inline Status damagedElf() {
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

  /// Code, constants, data, unwind tables, but not zeroed memory.
  uint64_t loadedBytes() const;
  /// The sizes of functions, by name.
  Status addFunctions(std::map<std::string, uint64_t> &Sizes) const;
  /// The names of the dynamic symbol table, each between zeros; empty if there
  /// is none. Lives as long as the file.
  std::string_view exportedNames() const;

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
    return damagedElf();
  std::memcpy(&H, Elf.data(), sizeof(H));
  uint64_t Table = Number(H.e_shoff), Step = Number(H.e_shentsize),
           Count = Number(H.e_shnum);
  if (Table == 0)
    return Found; // no sections
  if (Table > Elf.size() || Step < sizeof(Section))
    return damagedElf();
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
      return damagedElf();
    Count = Number(Read(0).sh_size);
  }
  if (Count != 0 && !Fits(Count - 1))
    return damagedElf();
  for (uint64_t I = 0; I < Count; ++I) {
    Section Each = Read(I);
    uint64_t At = Number(Each.sh_offset), Size = Number(Each.sh_size);
    uint64_t Type = Number(Each.sh_type);
    if (Type != SHT_NULL && Type != SHT_NOBITS &&
        (At > Elf.size() || Size > Elf.size() - At))
      return damagedElf();
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
      return damagedElf();
    Bytes Names = content(All[Link]), Symbols = content(Table);
    // So that every name in it ends.
    if (Names.empty() || Names[Names.size() - 1] != 0)
      return damagedElf();
    for (size_t At = 0; At + sizeof(Symbol) <= Symbols.size();
         At += sizeof(Symbol)) {
      Symbol Each;
      std::memcpy(&Each, Symbols.data() + At, sizeof(Each));
      if (ELF64_ST_TYPE(Each.st_info) != STT_FUNC || number(Each.st_size) == 0)
        continue;
      uint64_t Name = number(Each.st_name);
      if (Name >= Names.size())
        return damagedElf();
      Sizes[reinterpret_cast<const char *>(Names.data() + Name)] =
          number(Each.st_size);
    }
  }
  return Status();
}

template <typename Header, typename Section, typename Symbol>
std::string_view Sections<Header, Section, Symbol>::exportedNames() const {
  for (const Section &Table : All) {
    uint64_t Link = number(Table.sh_link);
    if (number(Table.sh_type) == SHT_DYNSYM && Link < All.size() &&
        number(All[Link].sh_type) == SHT_STRTAB) {
      Bytes Names = content(All[Link]);
      return {reinterpret_cast<const char *>(Names.data()), Names.size()};
    }
  }
  return {};
}

/// Calls Use with the sections of a file. Fails if it is no ELF file or
/// damaged, or if Use does.
template <typename Fn> Status withSections(Bytes Elf, Fn Use) {
  if (Elf.size() < EI_NIDENT || std::memcmp(Elf.data(), ELFMAG, SELFMAG) != 0)
    return Status::error(StatusCode::InvalidArgument, "is no ELF file");
  unsigned Class = Elf[EI_CLASS], Order = Elf[EI_DATA];
  if (Order != ELFDATA2LSB && Order != ELFDATA2MSB)
    return damagedElf();
  auto Apply = [&](auto Found) { return Found ? Use(*Found) : Found.status(); };
  bool BigEndian = Order == ELFDATA2MSB;
  if (Class == ELFCLASS64)
    return Apply(
        Sections<Elf64_Ehdr, Elf64_Shdr, Elf64_Sym>::of(Elf, BigEndian));
  if (Class == ELFCLASS32)
    return Apply(
        Sections<Elf32_Ehdr, Elf32_Shdr, Elf32_Sym>::of(Elf, BigEndian));
  return damagedElf();
}

} // namespace cbridge::driver

#endif // CBRIDGE_TOOLS_CBRIDGE_CLANG_ELFSECTIONS_H
