/*===- regex.h - Regular expressions ------------------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef MATCH_REGEX_H
#define MATCH_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  MAX_NODES = 256,
  MAX_SETS = 32,
  MAX_GROUPS = 10, /* the whole match is group 0 */
  MAX_CODE = 1024,
  MAX_REPEAT = 64
};

/* The characters of a class. */
struct set {
  uint32_t bits[8];
};

enum node_kind {
  NODE_EMPTY,
  NODE_CHAR,
  NODE_SET,
  NODE_LINE_START,
  NODE_LINE_END,
  NODE_WORD_EDGE,
  NODE_GROUP,
  NODE_REPEAT,
  NODE_CONCAT,
  NODE_EITHER
};

struct node {
  enum node_kind kind;
  uint8_t value; /* a character, or the number of a set or a group */
  bool lazy;
  int16_t min, max; /* of a repetition; max < 0: no limit */
  int16_t left, right;
};

enum opcode {
  OP_CHAR,
  OP_SET,
  OP_LINE_START,
  OP_LINE_END,
  OP_WORD_EDGE,
  OP_SAVE,
  OP_JUMP,
  OP_SPLIT, /* tries x first, then y */
  OP_MATCH
};

struct instruction {
  enum opcode opcode;
  uint8_t value;
  int16_t x, y;
};

struct regex {
  bool ignore_case;
  struct set sets[MAX_SETS];
  int set_count;
  int group_count;
  struct node nodes[MAX_NODES];
  int node_count;
  struct instruction code[MAX_CODE];
  int code_count;
  const char *error; /* NULL: there is none */
  size_t error_at;
};

struct match {
  size_t start[MAX_GROUPS], end[MAX_GROUPS];
  bool has[MAX_GROUPS];
};

/* False with regex->error if the pattern is wrong. */
bool regex_compile(struct regex *regex, const char *pattern, bool ignore_case);
/* The leftmost match at or after from. */
bool regex_search(const struct regex *regex, const char *text, size_t size,
                  size_t from, struct match *match);

/* The steps of regex_compile: the root, and the code of that tree. */
int parse_pattern(struct regex *regex, const char *pattern);
void generate_code(struct regex *regex, int root);

static inline bool set_has(const struct set *set, unsigned char c) {
  return set->bits[c / 32] >> (c % 32) & 1;
}

static inline bool is_word_char(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

static inline unsigned char fold(unsigned char c) {
  return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 'a' - 'A') : c;
}

#endif
