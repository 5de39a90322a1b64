/*===- matches.c - Finding repetitions ------------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "matches.h"

#include <stdlib.h>
#include <string.h>

enum { HASH_BITS = 13, HASH_SIZE = 1 << HASH_BITS, MAX_CHAIN = 32, NICE = 64 };

/* Positions with the same hash, newest first: their chain ends at a position
   that is too old, or at NOWHERE. */
struct finder {
  const uint8_t *data;
  size_t size;
  uint32_t heads[HASH_SIZE];
  uint32_t previous[WINDOW];
};

#define NOWHERE UINT32_MAX

static uint32_t hash_at(const uint8_t *at) {
  uint32_t key = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
  return (key * 2654435761u) >> (32 - HASH_BITS);
}

static bool can_hash(const struct finder *finder, size_t at) {
  return at + MIN_MATCH <= finder->size;
}

static void remember(struct finder *finder, size_t at) {
  uint32_t hash;
  if (!can_hash(finder, at))
    return;
  hash = hash_at(finder->data + at);
  finder->previous[at % WINDOW] = finder->heads[hash];
  finder->heads[hash] = (uint32_t)at;
}

static unsigned common_length(const struct finder *finder, size_t a, size_t b) {
  unsigned length = 0;
  while (length < MAX_MATCH && b + length < finder->size &&
         finder->data[a + length] == finder->data[b + length])
    ++length;
  return length;
}

static bool is_reachable(size_t from, uint32_t candidate) {
  return candidate != NOWHERE && candidate < from && from - candidate < WINDOW;
}

static struct token longest_match(const struct finder *finder, size_t at) {
  struct token best = {0, 0};
  uint32_t candidate;
  if (!can_hash(finder, at))
    return best;
  candidate = finder->heads[hash_at(finder->data + at)];
  for (int left = MAX_CHAIN; left && is_reachable(at, candidate); --left) {
    unsigned length = common_length(finder, candidate, at);
    if (length > best.length) {
      best.length = (uint16_t)length;
      best.distance = (uint16_t)(at - candidate);
      if (length >= NICE)
        break;
    }
    candidate = finder->previous[candidate % WINDOW];
  }
  if (best.length < MIN_MATCH)
    best.length = best.distance = 0;
  return best;
}

static void add_token(struct tokens *tokens, struct token token) {
  if (tokens->count == tokens->capacity) {
    tokens->capacity = tokens->capacity ? 2 * tokens->capacity : 256;
    tokens->items = checked_realloc(tokens->items,
                                    tokens->capacity * sizeof(*tokens->items));
  }
  tokens->items[tokens->count++] = token;
}

static void add_literal(struct tokens *tokens, uint8_t value) {
  struct token token = {value, 0};
  add_token(tokens, token);
}

void find_tokens(struct tokens *tokens, const uint8_t *data, size_t size) {
  struct finder *finder = checked_realloc(NULL, sizeof(*finder));
  size_t at = 0;
  finder->data = data;
  finder->size = size;
  memset(finder->heads, 0xff, sizeof(finder->heads));
  while (at < size) {
    struct token here = longest_match(finder, at);
    remember(finder, at);
    if (here.length && here.length < NICE) {
      /* A longer match one byte later is worth a literal. */
      struct token next = longest_match(finder, at + 1);
      if (next.length > here.length)
        here.length = 0;
    }
    if (!here.length) {
      add_literal(tokens, data[at++]);
      continue;
    }
    add_token(tokens, here);
    for (unsigned i = 1; i < here.length; ++i)
      remember(finder, at + i);
    at += here.length;
  }
  free(finder);
}

void tokens_free(struct tokens *tokens) {
  free(tokens->items);
  memset(tokens, 0, sizeof(*tokens));
}
