/*===- bytes.c - Growable bytes, and bits in them -------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *checked_realloc(void *memory, size_t size) {
  void *grown = realloc(memory, size ? size : 1);
  if (!grown) {
    fputs("squeeze: out of memory\n", stderr);
    exit(2);
  }
  return grown;
}

void bytes_add(struct bytes *bytes, uint8_t byte) {
  if (bytes->size == bytes->capacity) {
    bytes->capacity = bytes->capacity ? 2 * bytes->capacity : 64;
    bytes->data = checked_realloc(bytes->data, bytes->capacity);
  }
  bytes->data[bytes->size++] = byte;
}

void bytes_add_u32(struct bytes *bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    bytes_add(bytes, (uint8_t)(value >> shift));
}

void bytes_add_varint(struct bytes *bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes_add(bytes, (uint8_t)(value | 0x80));
  bytes_add(bytes, (uint8_t)value);
}

void bytes_free(struct bytes *bytes) {
  free(bytes->data);
  memset(bytes, 0, sizeof(*bytes));
}

void put_bits(struct bit_writer *writer, uint32_t value, unsigned count) {
  writer->pending |= value << writer->count;
  writer->count += count;
  for (; writer->count >= 8; writer->count -= 8, writer->pending >>= 8)
    bytes_add(writer->out, (uint8_t)writer->pending);
}

void flush_bits(struct bit_writer *writer) {
  if (writer->count)
    bytes_add(writer->out, (uint8_t)writer->pending);
  writer->count = writer->pending = 0;
}

uint8_t get_byte(struct bit_reader *reader) {
  if (!reader->left) {
    reader->failed = true;
    return 0;
  }
  --reader->left;
  return *reader->at++;
}

uint32_t get_bits(struct bit_reader *reader, unsigned count) {
  uint32_t value;
  while (reader->count < count) {
    reader->pending |= (uint32_t)get_byte(reader) << reader->count;
    reader->count += 8;
  }
  value = reader->pending & ((1u << count) - 1);
  reader->pending >>= count;
  reader->count -= count;
  return value;
}

uint32_t get_u32(struct bit_reader *reader) {
  uint32_t value = 0;
  for (int shift = 0; shift < 32; shift += 8)
    value |= (uint32_t)get_byte(reader) << shift;
  return value;
}

uint64_t get_varint(struct bit_reader *reader) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 63; shift += 7) {
    uint8_t byte = get_byte(reader);
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  reader->failed = true;
  return 0;
}
