/*===- archive.c - The compressed format ----------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "archive.h"

#include "checksum.h"
#include "huffman.h"
#include "matches.h"

#include <string.h>

enum {
  END = 256,
  FIRST_LENGTH = 257,
  LENGTH_SLOTS = 16,
  TEXT_SYMBOLS = FIRST_LENGTH + LENGTH_SLOTS,
  DISTANCE_SLOTS = 30
};

static const uint8_t magic[4] = {'S', 'Q', 'Z', '1'};

/* Numbers are written as a slot, which says how large about, and extra bits. */
struct slot {
  unsigned number, extra_bits, base;
};

static unsigned log2_of(unsigned value) {
  unsigned result = 0;
  while (value >>= 1)
    ++result;
  return result;
}

static struct slot slot_numbered(unsigned number) {
  struct slot slot = {number, 0, number};
  if (number >= 4) {
    slot.extra_bits = number / 2 - 1;
    slot.base = (2 | (number & 1)) << slot.extra_bits;
  }
  return slot;
}

static struct slot slot_of(unsigned value) {
  unsigned high;
  if (value < 4)
    return slot_numbered(value);
  high = log2_of(value);
  return slot_numbered(2 * high + ((value >> (high - 1)) & 1));
}

static struct slot length_slot(const struct token *token) {
  return slot_of(token->length - MIN_MATCH);
}

static struct slot distance_slot(const struct token *token) {
  return slot_of(token->distance - 1u);
}

static void count_symbols(const struct tokens *tokens, uint32_t *text,
                          uint32_t *distances, struct statistics *statistics) {
  for (size_t i = 0; i < tokens->count; ++i) {
    const struct token *token = &tokens->items[i];
    if (is_literal(token)) {
      ++text[token->length];
      ++statistics->literals;
      continue;
    }
    ++text[FIRST_LENGTH + length_slot(token).number];
    ++distances[distance_slot(token).number];
    ++statistics->matches;
    if (token->length > statistics->longest)
      statistics->longest = token->length;
  }
  ++text[END];
}

static void put_extra(struct bit_writer *writer, struct slot slot,
                      unsigned value) {
  put_bits(writer, value - slot.base, slot.extra_bits);
}

static void put_match(struct bit_writer *writer, const struct code *text,
                      const struct code *distances, const struct token *token) {
  struct slot length = length_slot(token), distance = distance_slot(token);
  put_symbol(text, writer, FIRST_LENGTH + length.number);
  put_extra(writer, length, token->length - MIN_MATCH);
  put_symbol(distances, writer, distance.number);
  put_extra(writer, distance, token->distance - 1u);
}

void pack(struct bytes *archive, const uint8_t *text, size_t size,
          struct statistics *statistics) {
  struct tokens tokens = {0};
  struct code text_code, distance_code;
  struct bit_writer writer = {archive, 0, 0};
  uint32_t text_counts[TEXT_SYMBOLS] = {0};
  uint32_t distance_counts[DISTANCE_SLOTS] = {0};
  memset(statistics, 0, sizeof(*statistics));
  find_tokens(&tokens, text, size);
  count_symbols(&tokens, text_counts, distance_counts, statistics);
  code_fit(&text_code, text_counts, TEXT_SYMBOLS);
  code_fit(&distance_code, distance_counts, DISTANCE_SLOTS);

  for (size_t i = 0; i < sizeof(magic); ++i)
    bytes_add(archive, magic[i]);
  bytes_add_varint(archive, size);
  bytes_add_u32(archive, crc32_of(text, size));
  code_write(&text_code, &writer);
  code_write(&distance_code, &writer);
  statistics->header_bytes = archive->size;
  for (size_t i = 0; i < tokens.count; ++i) {
    const struct token *token = &tokens.items[i];
    if (is_literal(token))
      put_symbol(&text_code, &writer, token->length);
    else
      put_match(&writer, &text_code, &distance_code, token);
  }
  put_symbol(&text_code, &writer, END);
  flush_bits(&writer);
  tokens_free(&tokens);
}

static bool read_magic(struct bit_reader *reader) {
  for (size_t i = 0; i < sizeof(magic); ++i)
    if (get_byte(reader) != magic[i])
      return false;
  return true;
}

static unsigned get_slot_value(struct bit_reader *reader, unsigned number) {
  struct slot slot = slot_numbered(number);
  return slot.base + get_bits(reader, slot.extra_bits);
}

static enum unpack_result copy_match(struct bytes *text,
                                     struct bit_reader *reader,
                                     const struct code *distances,
                                     unsigned length_slot_number,
                                     uint64_t limit) {
  size_t length = get_slot_value(reader, length_slot_number) + MIN_MATCH;
  int symbol = get_symbol(distances, reader);
  size_t distance;
  if (symbol < 0)
    return UNPACK_BAD_SYMBOL;
  distance = (size_t)get_slot_value(reader, (unsigned)symbol) + 1;
  if (distance > text->size)
    return UNPACK_BAD_DISTANCE;
  if (text->size + length > limit)
    return UNPACK_TOO_LONG;
  while (length--)
    bytes_add(text, text->data[text->size - distance]);
  return UNPACK_OK;
}

static enum unpack_result read_tokens(struct bytes *text,
                                      struct bit_reader *reader,
                                      const struct code *text_code,
                                      const struct code *distance_code,
                                      uint64_t limit) {
  for (;;) {
    int symbol = get_symbol(text_code, reader);
    enum unpack_result result = UNPACK_OK;
    if (symbol == END)
      return UNPACK_OK;
    if (symbol < 0)
      result = UNPACK_BAD_SYMBOL;
    else if (symbol >= FIRST_LENGTH)
      result = copy_match(text, reader, distance_code,
                          (unsigned)symbol - FIRST_LENGTH, limit);
    else if (text->size == limit)
      result = UNPACK_TOO_LONG;
    else
      bytes_add(text, (uint8_t)symbol);
    if (reader->failed)
      return UNPACK_CUT_OFF;
    if (result != UNPACK_OK)
      return result;
  }
}

enum unpack_result unpack(struct bytes *text, const uint8_t *archive,
                          size_t size) {
  struct bit_reader reader = {archive, size, 0, 0, false};
  struct code text_code, distance_code;
  enum unpack_result result;
  uint64_t expected;
  uint32_t crc;
  if (!read_magic(&reader))
    return UNPACK_NO_ARCHIVE;
  expected = get_varint(&reader);
  crc = get_u32(&reader);
  if (reader.failed)
    return UNPACK_CUT_OFF;
  if (!code_read(&text_code, &reader, TEXT_SYMBOLS) ||
      !code_read(&distance_code, &reader, DISTANCE_SLOTS))
    return reader.failed ? UNPACK_CUT_OFF : UNPACK_BAD_CODE;
  result = read_tokens(text, &reader, &text_code, &distance_code, expected);
  if (result != UNPACK_OK)
    return result;
  if (reader.failed || text->size != expected)
    return UNPACK_CUT_OFF;
  return crc32_of(text->data, text->size) == crc ? UNPACK_OK
                                                 : UNPACK_BAD_CHECKSUM;
}

const char *unpack_message(enum unpack_result result) {
  switch (result) {
  case UNPACK_OK:
    return "ok";
  case UNPACK_NO_ARCHIVE:
    return "not an archive";
  case UNPACK_CUT_OFF:
    return "cut off";
  case UNPACK_BAD_CODE:
    return "impossible code lengths";
  case UNPACK_BAD_SYMBOL:
    return "bits that are no symbol";
  case UNPACK_BAD_DISTANCE:
    return "repetition of what is not there";
  case UNPACK_TOO_LONG:
    return "longer than announced";
  case UNPACK_BAD_CHECKSUM:
    return "wrong checksum";
  }
  return "unknown";
}
