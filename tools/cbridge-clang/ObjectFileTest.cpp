//===- ObjectFileTest.cpp - Tests of sizes of objects ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ObjectFile.h"

#include "os/File.h"
#include "os/Folder.h"
#include "os/ReadFile.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <vector>

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace cbridge;
using namespace cbridge::driver;

namespace {

using Memory = std::vector<unsigned char>;

template <typename T> T swapped(T Value) {
  auto *At = reinterpret_cast<unsigned char *>(&Value);
  std::reverse(At, At + sizeof(T));
  return Value;
}

struct Part {
  unsigned Type, Flags;
  unsigned Size;
};
const std::vector<Part> Parts = {
    {SHT_NULL, 0, 0},
    {SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 100}, // code
    {SHT_PROGBITS, SHF_ALLOC, 20},                  // constants
    {SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 3},       // data
    {SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 100000},    // zeroed
    {SHT_PROGBITS, 0, 300},                         // for debuggers
};
constexpr uint64_t Expected123 = 123;

/// A file of 1000 bytes, then the table of its sections.
template <typename Header, typename Section>
Memory elf(bool BigEndian, bool CountInTable = false) {
  auto Set = [BigEndian](auto &To, uint64_t Value) {
    To = static_cast<std::remove_reference_t<decltype(To)>>(Value);
    if (BigEndian)
      To = swapped(To);
  };
  Header H = {};
  std::memcpy(H.e_ident, ELFMAG, SELFMAG);
  H.e_ident[EI_CLASS] =
      sizeof(Header) == sizeof(Elf64_Ehdr) ? ELFCLASS64 : ELFCLASS32;
  H.e_ident[EI_DATA] = BigEndian ? ELFDATA2MSB : ELFDATA2LSB;
  constexpr size_t Table = 1000;
  Set(H.e_shoff, Table);
  Set(H.e_shentsize, sizeof(Section));
  Set(H.e_shnum, CountInTable ? 0 : Parts.size());
  Memory File(Table + Parts.size() * sizeof(Section));
  std::memcpy(File.data(), &H, sizeof(H));
  for (size_t I = 0; I < Parts.size(); ++I) {
    Section S = {};
    Set(S.sh_type, Parts[I].Type);
    Set(S.sh_flags, Parts[I].Flags);
    Set(S.sh_size, CountInTable && I == 0 ? Parts.size() : Parts[I].Size);
    std::memcpy(&File[Table + I * sizeof(S)], &S, sizeof(S));
  }
  return File;
}

Memory elf64() { return elf<Elf64_Ehdr, Elf64_Shdr>(false); }

TEST(ObjectSizesTest, BothSizesAndOrders) {
  for (bool BigEndian : {false, true})
    for (bool CountInTable : {false, true}) {
      Expected<ObjectSizes> Wide =
          ObjectSizes::of(elf<Elf64_Ehdr, Elf64_Shdr>(BigEndian, CountInTable));
      ASSERT_TRUE(Wide) << Wide.status().message();
      EXPECT_EQ(Wide->Loaded, Expected123);
      Expected<ObjectSizes> Narrow =
          ObjectSizes::of(elf<Elf32_Ehdr, Elf32_Shdr>(BigEndian, CountInTable));
      ASSERT_TRUE(Narrow) << Narrow.status().message();
      EXPECT_EQ(Narrow->Loaded, Expected123);
    }
}

TEST(ObjectSizesTest, NoElf) {
  for (const char *Text : {"", "x",
                           "\x7f"
                           "ELF",
                           "!<arch>\nand much more text"})
    EXPECT_FALSE(ObjectSizes::of(
        {reinterpret_cast<const unsigned char *>(Text), std::strlen(Text)}));
}

TEST(ObjectSizesTest, EveryPrefixIsDamaged) {
  Memory Whole = elf64();
  for (size_t Size = 0; Size < Whole.size(); ++Size) {
    Memory Part(Whole.begin(), Whole.begin() + ptrdiff_t(Size)); // for ASan
    EXPECT_FALSE(ObjectSizes::of(Part)) << Size;
  }
}

TEST(ObjectSizesTest, Damaged) {
  auto With = [](size_t Offset, auto Value) {
    Memory File = elf64();
    std::memcpy(&File[Offset], &Value, sizeof(Value));
    return ObjectSizes::of(File);
  };
  EXPECT_FALSE(With(EI_CLASS, uint8_t(9)));
  EXPECT_FALSE(With(EI_DATA, uint8_t(0)));
  EXPECT_FALSE(With(offsetof(Elf64_Ehdr, e_shoff), ~uint64_t(0)));
  EXPECT_FALSE(With(offsetof(Elf64_Ehdr, e_shoff), uint64_t(1001)));
  EXPECT_FALSE(With(offsetof(Elf64_Ehdr, e_shentsize), uint16_t(0)));
  EXPECT_FALSE(With(offsetof(Elf64_Ehdr, e_shentsize), uint16_t(0xFFFF)));
  EXPECT_FALSE(With(offsetof(Elf64_Ehdr, e_shnum), uint16_t(0xFFFF)));
  size_t Code = 1000 + sizeof(Elf64_Shdr);
  EXPECT_FALSE(With(Code + offsetof(Elf64_Shdr, sh_size), ~uint64_t(0)));
  // What nobody counts may be anything.
  EXPECT_TRUE(
      With(1000 + 4 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
           ~uint64_t(0)));
}

TEST(ObjectSizesTest, NoSections) {
  Memory File = elf64();
  std::memset(&File[offsetof(Elf64_Ehdr, e_shoff)], 0, sizeof(uint64_t));
  Expected<ObjectSizes> Size = ObjectSizes::of(File);
  ASSERT_TRUE(Size);
  EXPECT_EQ(Size->Loaded, 0u);
}

/// A file of three sections: nothing, symbols at Symbols, their names at Names.
constexpr size_t Symbols = 100, Names = 300, Table = 400;
constexpr char NameBytes[] = "\0f\0data\0odd name\0";

template <typename Header, typename Section, typename Symbol>
Memory withSymbols(bool BigEndian) {
  auto Set = [BigEndian](auto &To, uint64_t Value) {
    To = static_cast<std::remove_reference_t<decltype(To)>>(Value);
    if (BigEndian)
      To = swapped(To);
  };
  Header H = {};
  std::memcpy(H.e_ident, ELFMAG, SELFMAG);
  H.e_ident[EI_CLASS] =
      sizeof(Header) == sizeof(Elf64_Ehdr) ? ELFCLASS64 : ELFCLASS32;
  H.e_ident[EI_DATA] = BigEndian ? ELFDATA2MSB : ELFDATA2LSB;
  Set(H.e_shoff, Table);
  Set(H.e_shentsize, sizeof(Section));
  Set(H.e_shnum, 3);
  struct {
    unsigned Name, Type, Size;
  } const All[] = {
      {0, STT_NOTYPE, 0},  {1, STT_FUNC, 40},   {3, STT_OBJECT, 8},
      {8, STT_FUNC, 7000}, {8, STT_SECTION, 1}, {1, STT_FUNC, 0}, // used only
  };
  Memory File(Table + 3 * sizeof(Section));
  std::memcpy(File.data(), &H, sizeof(H));
  Section S[3] = {};
  Set(S[1].sh_type, SHT_SYMTAB);
  Set(S[1].sh_link, 2);
  Set(S[1].sh_offset, Symbols);
  Set(S[1].sh_size, sizeof(Symbol) * std::size(All));
  Set(S[2].sh_type, SHT_STRTAB);
  Set(S[2].sh_offset, Names);
  Set(S[2].sh_size, sizeof(NameBytes) - 1);
  std::memcpy(&File[Table], S, sizeof(S));
  std::memcpy(&File[Names], NameBytes, sizeof(NameBytes));
  for (size_t I = 0; I < std::size(All); ++I) {
    Symbol Each = {};
    Set(Each.st_name, All[I].Name);
    Each.st_info = ELF64_ST_INFO(STB_GLOBAL, All[I].Type);
    Set(Each.st_size, All[I].Size);
    std::memcpy(&File[Symbols + I * sizeof(Each)], &Each, sizeof(Each));
  }
  return File;
}

TEST(ObjectSizesTest, Functions) {
  const std::map<std::string, uint64_t> Wanted = {{"f", 40},
                                                  {"odd name", 7000}};
  for (bool BigEndian : {false, true}) {
    Expected<ObjectSizes> Wide = ObjectSizes::of(
        withSymbols<Elf64_Ehdr, Elf64_Shdr, Elf64_Sym>(BigEndian));
    ASSERT_TRUE(Wide) << Wide.status().message();
    EXPECT_EQ(Wide->Functions, Wanted);
    EXPECT_EQ(Wide->Loaded, 0u);
    Expected<ObjectSizes> Narrow = ObjectSizes::of(
        withSymbols<Elf32_Ehdr, Elf32_Shdr, Elf32_Sym>(BigEndian));
    ASSERT_TRUE(Narrow) << Narrow.status().message();
    EXPECT_EQ(Narrow->Functions, Wanted);
  }
}

TEST(ObjectSizesTest, DamagedSymbols) {
  auto With = [](size_t Offset, auto Value) {
    Memory File = withSymbols<Elf64_Ehdr, Elf64_Shdr, Elf64_Sym>(false);
    std::memcpy(&File[Offset], &Value, sizeof(Value));
    return ObjectSizes::of(File);
  };
  size_t OfSymbols = Table + sizeof(Elf64_Shdr),
         OfNames = OfSymbols + sizeof(Elf64_Shdr);
  for (uint32_t Link : {0u, 1u, 3u, ~0u})
    EXPECT_FALSE(With(OfSymbols + offsetof(Elf64_Shdr, sh_link), Link)) << Link;
  EXPECT_FALSE(With(OfNames + offsetof(Elf64_Shdr, sh_size), uint64_t(0)));
  EXPECT_FALSE(With(OfNames + offsetof(Elf64_Shdr, sh_size), uint64_t(10)));
  EXPECT_FALSE(With(OfNames + offsetof(Elf64_Shdr, sh_offset), ~uint64_t(0)));
  EXPECT_FALSE(With(Names + sizeof(NameBytes) - 2, 'x')); // a name has no end
  size_t First = Symbols + sizeof(Elf64_Sym);
  EXPECT_FALSE(With(First + offsetof(Elf64_Sym, st_name),
                    uint32_t(sizeof(NameBytes) - 1)));
  // Half a symbol at the end is none.
  Expected<ObjectSizes> Half =
      With(OfSymbols + offsetof(Elf64_Shdr, sh_size),
           uint64_t(2 * sizeof(Elf64_Sym) + sizeof(Elf64_Sym) / 2));
  ASSERT_TRUE(Half);
  EXPECT_EQ(Half->Functions.size(), 1u);
}

/// With C's name, so that it is known.
extern "C" [[gnu::noinline, gnu::used]] int cbridgeTestedFunction(int X) {
  return X * X + 1;
}

TEST(ObjectSizesTest, OfAFile) {
  Expected<ObjectSizes> Ours = ObjectSizes::ofFile("/proc/self/exe");
  ASSERT_TRUE(Ours) << Ours.status().message();
  ASSERT_EQ(Ours->Functions.count("cbridgeTestedFunction"), 1u);
  EXPECT_GT(Ours->Functions["cbridgeTestedFunction"], 0u);
  EXPECT_EQ(Ours->Functions.count("environ"), 0u); // no function
  EXPECT_FALSE(ObjectSizes::ofFile("/dev/null"));
  EXPECT_FALSE(ObjectSizes::ofFile("/nowhere"));
}

class ReplaceFile : public testing::Test {
protected:
  ReplaceFile() : Folder(*os::makePrivateDirectory()) {}
  ~ReplaceFile() override { os::removeDirectory(Folder); }
  std::string write(const std::string &Name, const std::string &Text) {
    std::ofstream(Folder + "/" + Name) << Text;
    return Folder + "/" + Name;
  }
  std::string read(const std::string &Path) {
    return std::string(os::readFile(Path, 100)->text());
  }
  const std::string Folder;
};

TEST_F(ReplaceFile, NewAndOld) {
  std::string From = write("from", "new"), Old = write("old", "old"),
              New = Folder + "/new";
  ::chmod(From.c_str(), S_IRUSR);
  for (const std::string &To : {Old, New}) {
    EXPECT_TRUE(canBeReplaced(To));
    ASSERT_TRUE(replaceFile(From, To).ok());
    EXPECT_EQ(read(To), "new");
    struct stat Info;
    ASSERT_EQ(::stat(To.c_str(), &Info), 0);
    mode_t Mask = ::umask(0);
    ::umask(Mask);
    EXPECT_EQ(Info.st_mode & 0777u, 0666u & ~Mask);
  }
  EXPECT_EQ(os::listFolder(Folder)->size(), 3u);
}

TEST_F(ReplaceFile, WhatCannotBe) {
  std::string From = write("from", "new");
  ASSERT_EQ(::mkdir((Folder + "/full").c_str(), 0700), 0);
  write("full/file", "");
  for (const std::string &To :
       {std::string("/dev/null"), Folder + "/full", Folder + "/none/file"})
    EXPECT_FALSE(canBeReplaced(To)) << To;
  EXPECT_FALSE(replaceFile(From, Folder + "/full").ok());
  EXPECT_FALSE(replaceFile(From, Folder + "/none/file").ok());
  EXPECT_FALSE(replaceFile(Folder + "/none", From).ok());
  EXPECT_EQ(read(From), "new");
  EXPECT_EQ(os::listFolder(Folder)->size(), 2u);
}

} // namespace
