/*===- huffman.h - Canonical Huffman codes ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SQUEEZE_HUFFMAN_H
#define SQUEEZE_HUFFMAN_H

#include "bytes.h"

enum { MAX_SYMBOLS = 288, MAX_LENGTH = 15 };

/* A code is given by the lengths alone; 0 is a symbol that never occurs. */
struct code {
  unsigned symbols;
  uint8_t lengths[MAX_SYMBOLS];
  uint16_t bits[MAX_SYMBOLS];      /* to write: already reversed */
  uint16_t counts[MAX_LENGTH + 1]; /* to read: symbols of each length, */
  uint16_t by_length[MAX_SYMBOLS]; /* and all of them in that order */
};

/* Lengths that suit how often each symbol occurs. */
void code_fit(struct code *code, const uint32_t *frequencies, unsigned symbols);
void code_write(const struct code *code, struct bit_writer *writer);
/* False if these lengths are no code. */
bool code_read(struct code *code, struct bit_reader *reader, unsigned symbols);

void put_symbol(const struct code *code, struct bit_writer *writer,
                unsigned symbol);
/* A negative number if no symbol has these bits. */
int get_symbol(const struct code *code, struct bit_reader *reader);

#endif
