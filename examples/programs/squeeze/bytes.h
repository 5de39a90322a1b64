/*===- bytes.h - Growable bytes, and bits in them -----------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SQUEEZE_BYTES_H
#define SQUEEZE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that grow. All zero is the empty one. */
struct bytes {
  uint8_t *data;
  size_t size, capacity;
};

void *checked_realloc(void *memory, size_t size);
void bytes_add(struct bytes *bytes, uint8_t byte);
void bytes_add_u32(struct bytes *bytes, uint32_t value);
/* 7 bits per byte, lowest first; the top bit says that more follow. */
void bytes_add_varint(struct bytes *bytes, uint64_t value);
void bytes_free(struct bytes *bytes);

/* Appends bits, lowest first, to bytes. */
struct bit_writer {
  struct bytes *out;
  uint32_t pending;
  unsigned count;
};

void put_bits(struct bit_writer *writer, uint32_t value, unsigned count);
void flush_bits(struct bit_writer *writer);

/* Reads what a bit_writer wrote. Past the end it gives zeros and is `failed`,
   so that callers need to look only once in a while. */
struct bit_reader {
  const uint8_t *at;
  size_t left;
  uint32_t pending;
  unsigned count;
  bool failed;
};

uint32_t get_bits(struct bit_reader *reader, unsigned count);
uint8_t get_byte(struct bit_reader *reader);
uint32_t get_u32(struct bit_reader *reader);
uint64_t get_varint(struct bit_reader *reader);

#endif
