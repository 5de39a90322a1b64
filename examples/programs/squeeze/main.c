/*===- main.c - squeeze FILE: packs, unpacks, compares --------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "archive.h"
#include "checksum.h"

#include <stdio.h>
#include <string.h>

static bool read_file(const char *name, struct bytes *bytes) {
  FILE *file = fopen(name, "rb");
  bool fine;
  int c;
  if (!file)
    return false;
  while ((c = getc(file)) != EOF)
    bytes_add(bytes, (uint8_t)c);
  fine = !ferror(file);
  fclose(file);
  return fine;
}

static void print_hex(const uint8_t *data, size_t size) {
  for (size_t i = 0; i < size; ++i)
    printf("%02x%s", data[i], i % 16 == 15 || i + 1 == size ? "\n" : " ");
}

static bool round_trip(const char *what, const uint8_t *text, size_t size) {
  struct bytes archive = {0}, unpacked = {0};
  struct statistics statistics;
  enum unpack_result result;
  bool same;
  pack(&archive, text, size, &statistics);
  result = unpack(&unpacked, archive.data, archive.size);
  same = result == UNPACK_OK && unpacked.size == size &&
         (size == 0 || !memcmp(unpacked.data, text, size));
  printf("%-10s %6zu -> %6zu bytes, %5zu literals, %4zu matches, longest %3zu, "
         "crc %08x, adler %08x: %s\n",
         what, size, archive.size, statistics.literals, statistics.matches,
         statistics.longest, (unsigned)crc32_of(text, size),
         (unsigned)adler32_of(text, size),
         same ? "same" : unpack_message(result));
  bytes_free(&archive);
  bytes_free(&unpacked);
  return same;
}

/* What a damaged archive is answered with. */
static void try_damaged(const struct bytes *archive, size_t at, size_t keep) {
  struct bytes copy = {0}, unpacked = {0};
  for (size_t i = 0; i < keep; ++i)
    bytes_add(&copy, archive->data[i]);
  if (at < copy.size)
    copy.data[at] ^= 0x10;
  printf("byte %5zu changed, %5zu kept: %s\n", at, keep,
         unpack_message(unpack(&unpacked, copy.data, copy.size)));
  bytes_free(&copy);
  bytes_free(&unpacked);
}

static void try_damages(const uint8_t *text, size_t size) {
  struct bytes archive = {0};
  struct statistics statistics;
  pack(&archive, text, size, &statistics);
  printf("header of %zu bytes:\n", statistics.header_bytes);
  print_hex(archive.data,
            statistics.header_bytes < 64 ? statistics.header_bytes : 64);
  for (size_t at = 0; at < archive.size; at += 1 + at / 2)
    try_damaged(&archive, at, archive.size);
  for (size_t keep = archive.size; keep; keep /= 4)
    try_damaged(&archive, archive.size, keep - 1);
  bytes_free(&archive);
}

static bool try_patterns(void) {
  uint8_t pattern[4096] = {0};
  uint32_t state = 1;
  bool fine = round_trip("nothing", pattern, 0);
  memset(pattern, 'a', sizeof(pattern));
  fine &= round_trip("one", pattern, 1);
  fine &= round_trip("run", pattern, sizeof(pattern));
  for (size_t i = 0; i < sizeof(pattern); ++i) {
    state = state * 1664525u + 1013904223u;
    pattern[i] = (uint8_t)(state >> 24);
  }
  fine &= round_trip("noise", pattern, sizeof(pattern));
  for (size_t i = 0; i < sizeof(pattern); ++i)
    pattern[i] = (uint8_t)("abracadabra"[i % 11] + (i % 97 == 0));
  return fine & round_trip("almost", pattern, sizeof(pattern));
}

int main(int argc, char **argv) {
  struct bytes text = {0};
  bool fine;
  if (argc != 2) {
    fputs("usage: squeeze FILE\n", stderr);
    return 2;
  }
  if (!read_file(argv[1], &text)) {
    perror(argv[1]);
    return 2;
  }
  fine = round_trip("file", text.data, text.size);
  fine &= try_patterns();
  try_damages(text.data, text.size);
  bytes_free(&text);
  return fine ? 0 : 1;
}
