/*===- checksum.h - CRC-32 and Adler-32 ---------------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SQUEEZE_CHECKSUM_H
#define SQUEEZE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_of(const uint8_t *data, size_t size);
uint32_t adler32_of(const uint8_t *data, size_t size);

#endif
