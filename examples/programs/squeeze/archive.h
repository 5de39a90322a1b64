/*===- archive.h - The compressed format --------------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SQUEEZE_ARCHIVE_H
#define SQUEEZE_ARCHIVE_H

#include "bytes.h"

/*
 "SQZ1", varint size, CRC-32 of the text, then bits: the lengths of both codes,
 tokens, and the symbol END.
*/

struct statistics {
  size_t literals, matches, longest;
  size_t header_bytes;
};

enum unpack_result {
  UNPACK_OK,
  UNPACK_NO_ARCHIVE,
  UNPACK_CUT_OFF,
  UNPACK_BAD_CODE,
  UNPACK_BAD_SYMBOL,
  UNPACK_BAD_DISTANCE,
  UNPACK_TOO_LONG,
  UNPACK_BAD_CHECKSUM
};

void pack(struct bytes *archive, const uint8_t *text, size_t size,
          struct statistics *statistics);
enum unpack_result unpack(struct bytes *text, const uint8_t *archive,
                          size_t size);
const char *unpack_message(enum unpack_result result);

#endif
