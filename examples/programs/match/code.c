/*===- code.c - From a tree to instructions -------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "regex.h"

#include <string.h>

static void generate(struct regex *regex, int index);

static int emit(struct regex *regex, enum opcode opcode, uint8_t value) {
  if (regex->code_count == MAX_CODE) {
    regex->error = "the repetitions are too many";
    return 0;
  }
  regex->code[regex->code_count] = (struct instruction){opcode, value, 0, 0};
  return regex->code_count++;
}

static int16_t here(const struct regex *regex) {
  return (int16_t)regex->code_count;
}

static void set_x(struct regex *regex, int at, int target) {
  regex->code[at].x = (int16_t)target;
}

static void set_y(struct regex *regex, int at, int target) {
  regex->code[at].y = (int16_t)target;
}

/* A greedy split prefers to go in, a lazy one to go out. */
static void set_inside(struct regex *regex, int split, bool lazy, int target) {
  if (lazy)
    set_y(regex, split, target);
  else
    set_x(regex, split, target);
}

static void set_outside(struct regex *regex, int split, bool lazy, int target) {
  set_inside(regex, split, !lazy, target);
}

static void generate_either(struct regex *regex, const struct node *node) {
  int split = emit(regex, OP_SPLIT, 0), jump;
  set_x(regex, split, here(regex));
  generate(regex, node->left);
  jump = emit(regex, OP_JUMP, 0);
  set_y(regex, split, here(regex));
  generate(regex, node->right);
  set_x(regex, jump, here(regex));
}

static void generate_group(struct regex *regex, const struct node *node) {
  emit(regex, OP_SAVE, (uint8_t)(2 * node->value));
  generate(regex, node->left);
  emit(regex, OP_SAVE, (uint8_t)(2 * node->value + 1));
}

static void generate_loop(struct regex *regex, const struct node *node) {
  int split = emit(regex, OP_SPLIT, 0);
  set_inside(regex, split, node->lazy, here(regex));
  generate(regex, node->left);
  set_x(regex, emit(regex, OP_JUMP, 0), split);
  set_outside(regex, split, node->lazy, here(regex));
}

static void generate_optional(struct regex *regex, const struct node *node,
                              int times) {
  int split;
  if (!times || regex->error)
    return;
  split = emit(regex, OP_SPLIT, 0);
  set_inside(regex, split, node->lazy, here(regex));
  generate(regex, node->left);
  generate_optional(regex, node, times - 1);
  set_outside(regex, split, node->lazy, here(regex));
}

static void generate_repeat(struct regex *regex, const struct node *node) {
  for (int i = 0; i < node->min && !regex->error; ++i)
    generate(regex, node->left);
  if (node->max < 0)
    generate_loop(regex, node);
  else
    generate_optional(regex, node, node->max - node->min);
}

static void generate(struct regex *regex, int index) {
  const struct node *node = &regex->nodes[index];
  if (regex->error)
    return;
  switch (node->kind) {
  case NODE_EMPTY:
    break;
  case NODE_CHAR:
    emit(regex, OP_CHAR, node->value);
    break;
  case NODE_SET:
    emit(regex, OP_SET, node->value);
    break;
  case NODE_LINE_START:
    emit(regex, OP_LINE_START, 0);
    break;
  case NODE_LINE_END:
    emit(regex, OP_LINE_END, 0);
    break;
  case NODE_WORD_EDGE:
    emit(regex, OP_WORD_EDGE, 0);
    break;
  case NODE_GROUP:
    generate_group(regex, node);
    break;
  case NODE_REPEAT:
    generate_repeat(regex, node);
    break;
  case NODE_CONCAT:
    generate(regex, node->left);
    generate(regex, node->right);
    break;
  case NODE_EITHER:
    generate_either(regex, node);
    break;
  }
}

void generate_code(struct regex *regex, int root) {
  generate(regex, root);
  emit(regex, OP_MATCH, 0);
}

bool regex_compile(struct regex *regex, const char *pattern, bool ignore_case) {
  int root;
  memset(regex, 0, sizeof(*regex));
  regex->ignore_case = ignore_case;
  regex->group_count = 1;
  root = parse_pattern(regex, pattern);
  if (!regex->error)
    generate_code(regex, root);
  return !regex->error;
}
