//===- Region.cpp - Address space that grows in place ---------------------===//
//
// Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "os/Region.h"

#include "os/SharedMemory.h"

#include <algorithm>
#include <string>

#include <sys/mman.h>
#include <sys/resource.h>

namespace cbridge::os {

static constexpr size_t Page = 4096;

static Status tooLarge(size_t Size, size_t Limit) {
  return Status::error(StatusCode::OutOfMemory,
                       std::to_string(Size) + " bytes are above the cap of " +
                           std::to_string(Limit));
}

Region::Region(std::shared_ptr<SharedMemory> In, size_t Offset, size_t Size)
    : Base(In->data() + Offset), Reserved(Size), Shared(std::move(In)) {}

Region::~Region() {
  if (Base && !Shared)
    ::munmap(Base, Reserved);
}

Status Region::reserve(size_t Size, size_t Cap) {
  // A process with a limit on its address space needs most of it itself.
  struct rlimit Limit;
  if (::getrlimit(RLIMIT_AS, &Limit) == 0 && Limit.rlim_cur != RLIM_INFINITY)
    Cap = std::min(
        Cap,
        std::max<size_t>(Limit.rlim_cur / 64, 2 * Size) / Page * Page + Page);
  for (size_t Want = Cap; Want >= Size; Want /= 2) {
    void *P = ::mmap(nullptr, Want, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (P != MAP_FAILED) {
      Base = static_cast<unsigned char *>(P);
      Reserved = Want;
      return Status();
    }
    if (Want == 0)
      break;
  }
  return Status::error(StatusCode::OutOfMemory, "no address space for " +
                                                    std::to_string(Size) +
                                                    " bytes");
}

Status Region::grow(size_t Size, size_t Cap) {
  if (Size <= Committed)
    return Status();
  if (Size > Cap)
    return tooLarge(Size, Cap);
  if (!Base) {
    size_t RoundedCap = (Cap + Page - 1) / Page * Page;
    if (Status S = reserve(Size, RoundedCap); !S)
      return S;
  }
  if (Size > Reserved)
    return tooLarge(Size, Reserved);
  // Doubling keeps the number of system calls small for slowly growing data.
  size_t Target = std::max(Size, std::min(Committed * 2, Reserved));
  Target = std::min((Target + Page - 1) / Page * Page, Reserved);
  if (Status S = commit(Target); !S)
    return S;
  Committed = Target;
  return Status();
}

Status Region::commit(size_t Size) {
  if (Shared)
    return Shared->commit(size_t(Base - Shared->data()) + Committed,
                          Size - Committed);
  if (::mprotect(Base, Size, PROT_READ | PROT_WRITE) == 0)
    return Status();
  return Status::error(StatusCode::OutOfMemory,
                       "no memory for " + std::to_string(Size) + " bytes");
}

} // namespace cbridge::os
