/*===- checksum.c - CRC-32 and Adler-32 -----------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "checksum.h"

/* Four bits at a time: a table of 64 bytes is enough. */
static uint32_t crc_nibble(uint32_t crc) {
  static const uint32_t table[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
      0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
      0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  return (crc >> 4) ^ table[crc & 15];
}

uint32_t crc32_of(const uint8_t *data, size_t size) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < size; ++i)
    crc = crc_nibble(crc_nibble(crc ^ data[i]));
  return ~crc;
}

static uint32_t modulo_prime(uint32_t sum) { return sum % 65521; }

uint32_t adler32_of(const uint8_t *data, size_t size) {
  uint32_t low = 1, high = 0;
  for (size_t i = 0; i < size; ++i) {
    low = modulo_prime(low + data[i]);
    high = modulo_prime(high + low);
  }
  return high << 16 | low;
}
