/*===- text.h - Growable strings and lists of words ---------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef FILL_TEXT_H
#define FILL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A string that grows. All zero is the empty one. */
struct text {
  char *data;
  size_t size, capacity;
};

/* A list of strings that it owns. All zero is the empty one. */
struct words {
  char **items;
  size_t count, capacity;
};

/* Ends the program: there is nothing sensible left to do. */
_Noreturn void out_of_memory(void);
void *grow(void *items, size_t *capacity, size_t wanted, size_t item_size);
char *copy_range(const char *from, size_t size);
char *copy_string(const char *from);

void text_add_char(struct text *text, char c);
void text_add_range(struct text *text, const char *from, size_t size);
void text_add(struct text *text, const char *from);
void text_add_number(struct text *text, unsigned long number);
void text_pad(struct text *text, char c, size_t count);
void text_clear(struct text *text);
void text_free(struct text *text);
const char *text_string(const struct text *text);

void words_add_range(struct words *words, const char *from, size_t size);
void words_add(struct words *words, const char *word);
void words_split(struct words *words, const char *line);
void words_clear(struct words *words);
void words_free(struct words *words);

bool is_blank(char c);
const char *skip_blanks(const char *at);
char *trimmed_copy(const char *from, const char *end);

#endif
