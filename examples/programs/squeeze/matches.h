/*===- matches.h - Finding repetitions ----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SQUEEZE_MATCHES_H
#define SQUEEZE_MATCHES_H

#include "bytes.h"

enum { MIN_MATCH = 3, MAX_MATCH = 258, WINDOW = 1 << 15 };

/* A literal byte if distance is 0, or a repetition of what lies that far
   back. */
struct token {
  uint16_t length; /* of a literal: its value */
  uint16_t distance;
};

struct tokens {
  struct token *items;
  size_t count, capacity;
};

void find_tokens(struct tokens *tokens, const uint8_t *data, size_t size);
void tokens_free(struct tokens *tokens);

static inline bool is_literal(const struct token *token) {
  return token->distance == 0;
}

#endif
