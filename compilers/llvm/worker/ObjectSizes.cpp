//===- ObjectSizes.cpp - How large what was compiled is -------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ObjectSizes.h"

#include <llvm/Object/ELFObjectFile.h>

using namespace llvm;
using namespace llvm::object;

namespace cbridge::worker {

Expected<ObjectSizes> ObjectSizes::of(MemoryBufferRef File) {
  Expected<std::unique_ptr<ObjectFile>> Object =
      ObjectFile::createObjectFile(File);
  if (!Object)
    return Object.takeError();
  if (!isa<ELFObjectFileBase>(**Object))
    return createStringError("the object is no ELF file");
  ObjectSizes Sizes;
  for (const ELFSectionRef Section : (*Object)->sections()) {
    if (!(Section.getFlags() & ELF::SHF_ALLOC) ||
        Section.getType() == ELF::SHT_NOBITS)
      continue;
    Sizes.Total += Section.getSize();
    if (Section.getFlags() & ELF::SHF_EXECINSTR)
      Sizes.Text += Section.getSize();
  }
  for (const ELFSymbolRef Symbol : (*Object)->symbols()) {
    if (Symbol.getELFType() != ELF::STT_FUNC || !Symbol.getSize())
      continue;
    Expected<StringRef> Name = Symbol.getName();
    if (!Name)
      return Name.takeError();
    Sizes.Functions[json::fixUTF8(*Name)] = Symbol.getSize();
  }
  return Sizes;
}

} // namespace cbridge::worker
