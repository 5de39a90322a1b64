/*===- text.c - Growable strings and lists of words -----------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void out_of_memory(void) {
  fputs("fill: out of memory\n", stderr);
  exit(2);
}

void *grow(void *items, size_t *capacity, size_t wanted, size_t item_size) {
  size_t next = *capacity ? *capacity : 8;
  void *grown;
  if (wanted <= *capacity)
    return items;
  while (next < wanted)
    next *= 2;
  grown = realloc(items, next * item_size);
  if (!grown)
    out_of_memory();
  *capacity = next;
  return grown;
}

char *copy_range(const char *from, size_t size) {
  char *copy = malloc(size + 1);
  if (!copy)
    out_of_memory();
  memcpy(copy, from, size);
  copy[size] = 0;
  return copy;
}

char *copy_string(const char *from) { return copy_range(from, strlen(from)); }

static void text_reserve(struct text *text, size_t more) {
  text->data = grow(text->data, &text->capacity, text->size + more + 1, 1);
}

void text_add_char(struct text *text, char c) {
  text_reserve(text, 1);
  text->data[text->size++] = c;
  text->data[text->size] = 0;
}

void text_add_range(struct text *text, const char *from, size_t size) {
  text_reserve(text, size);
  memcpy(text->data + text->size, from, size);
  text->size += size;
  text->data[text->size] = 0;
}

void text_add(struct text *text, const char *from) {
  text_add_range(text, from, strlen(from));
}

void text_add_number(struct text *text, unsigned long number) {
  if (number >= 10)
    text_add_number(text, number / 10);
  text_add_char(text, (char)('0' + number % 10));
}

void text_pad(struct text *text, char c, size_t count) {
  text_reserve(text, count);
  memset(text->data + text->size, c, count);
  text->size += count;
  text->data[text->size] = 0;
}

void text_clear(struct text *text) {
  text->size = 0;
  if (text->data)
    text->data[0] = 0;
}

void text_free(struct text *text) {
  free(text->data);
  memset(text, 0, sizeof(*text));
}

const char *text_string(const struct text *text) {
  return text->data ? text->data : "";
}

void words_add_range(struct words *words, const char *from, size_t size) {
  words->items = grow(words->items, &words->capacity, words->count + 1,
                      sizeof(*words->items));
  words->items[words->count++] = copy_range(from, size);
}

void words_add(struct words *words, const char *word) {
  words_add_range(words, word, strlen(word));
}

void words_split(struct words *words, const char *line) {
  for (line = skip_blanks(line); *line; line = skip_blanks(line)) {
    const char *end = line;
    while (*end && !is_blank(*end))
      ++end;
    words_add_range(words, line, (size_t)(end - line));
    line = end;
  }
}

void words_clear(struct words *words) {
  while (words->count)
    free(words->items[--words->count]);
}

void words_free(struct words *words) {
  words_clear(words);
  free(words->items);
  memset(words, 0, sizeof(*words));
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

const char *skip_blanks(const char *at) {
  while (is_blank(*at))
    ++at;
  return at;
}

char *trimmed_copy(const char *from, const char *end) {
  while (from < end && is_blank(*from))
    ++from;
  while (end > from && is_blank(end[-1]))
    --end;
  return copy_range(from, (size_t)(end - from));
}
