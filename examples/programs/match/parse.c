/*===- parse.c - From a pattern to a tree ---------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "regex.h"

#include <string.h>

struct parser {
  struct regex *regex;
  const char *pattern, *at;
  int depth;
};

static int parse_either(struct parser *parser);

/* Keeps the first error, and moves to the end so that all loops stop. */
static int fail(struct parser *parser, const char *error) {
  struct regex *regex = parser->regex;
  if (!regex->error) {
    regex->error = error;
    regex->error_at = (size_t)(parser->at - parser->pattern);
  }
  parser->at += strlen(parser->at);
  return 0;
}

static char peek(const struct parser *parser) { return *parser->at; }

static bool accept(struct parser *parser, char c) {
  if (peek(parser) != c || !c)
    return false;
  ++parser->at;
  return true;
}

static int add_node(struct parser *parser, enum node_kind kind) {
  struct regex *regex = parser->regex;
  if (regex->node_count == MAX_NODES)
    return fail(parser, "the pattern is too large");
  regex->nodes[regex->node_count] = (struct node){.kind = kind};
  return regex->node_count++;
}

static int add_pair(struct parser *parser, enum node_kind kind, int left,
                    int right) {
  int node = add_node(parser, kind);
  parser->regex->nodes[node].left = (int16_t)left;
  parser->regex->nodes[node].right = (int16_t)right;
  return node;
}

static int add_char(struct parser *parser, char c) {
  int node = add_node(parser, NODE_CHAR);
  unsigned char value = (unsigned char)c;
  parser->regex->nodes[node].value =
      parser->regex->ignore_case ? fold(value) : value;
  return node;
}

static void set_add(struct set *set, unsigned char c) {
  set->bits[c / 32] |= (uint32_t)1 << (c % 32);
}

static void set_add_range(struct set *set, unsigned char from,
                          unsigned char to) {
  for (unsigned c = from; c <= to; ++c)
    set_add(set, (unsigned char)c);
}

static void set_invert(struct set *set) {
  for (int i = 0; i < 8; ++i)
    set->bits[i] = ~set->bits[i];
}

static void set_fold(struct set *set) {
  for (unsigned char c = 'A'; c <= 'Z'; ++c)
    if (set_has(set, c) || set_has(set, fold(c))) {
      set_add(set, c);
      set_add(set, fold(c));
    }
}

/* \d, \w, \s and their opposites; false if the letter stands for itself. */
static bool set_add_class(struct set *set, char letter) {
  struct set class = {{0}};
  switch (letter | 0x20) {
  case 'd':
    set_add_range(&class, '0', '9');
    break;
  case 'w':
    for (unsigned c = 0; c < 256; ++c)
      if (is_word_char((unsigned char)c))
        set_add(&class, (unsigned char)c);
    break;
  case 's':
    for (const char *blank = " \t\r\n\f\v"; *blank; ++blank)
      set_add(&class, (unsigned char)*blank);
    break;
  default:
    return false;
  }
  if (letter < 'a')
    set_invert(&class);
  for (int i = 0; i < 8; ++i)
    set->bits[i] |= class.bits[i];
  return true;
}

static char control_char(char letter) {
  switch (letter) {
  case 'n':
    return '\n';
  case 't':
    return '\t';
  default:
    return letter;
  }
}

static int add_set(struct parser *parser, const struct set *set) {
  struct regex *regex = parser->regex;
  int node;
  if (regex->set_count == MAX_SETS)
    return fail(parser, "too many classes");
  node = add_node(parser, NODE_SET);
  regex->sets[regex->set_count] = *set;
  if (regex->ignore_case)
    set_fold(&regex->sets[regex->set_count]);
  regex->nodes[node].value = (uint8_t)regex->set_count++;
  return node;
}

/* One end of a range, or a whole class, which has no ends: then false. */
static bool parse_class_item(struct parser *parser, struct set *set,
                             unsigned char *item) {
  char c = *parser->at++;
  if (c == '\\' && peek(parser)) {
    c = *parser->at++;
    if (set_add_class(set, c))
      return false;
    c = control_char(c);
  }
  *item = (unsigned char)c;
  return true;
}

static int parse_class(struct parser *parser) {
  struct set set = {{0}};
  bool inverted = accept(parser, '^'), first = true;
  while (first || peek(parser) != ']') {
    unsigned char from, to;
    first = false;
    if (!peek(parser))
      return fail(parser, "a class lacks its ']'");
    if (!parse_class_item(parser, &set, &from))
      continue;
    to = from;
    if (peek(parser) == '-' && parser->at[1] && parser->at[1] != ']') {
      ++parser->at;
      if (!parse_class_item(parser, &set, &to) || to < from)
        return fail(parser, "a range of a class is empty");
    }
    set_add_range(&set, from, to);
  }
  ++parser->at;
  if (inverted)
    set_invert(&set);
  return add_set(parser, &set);
}

static int parse_escape(struct parser *parser) {
  struct set set = {{0}};
  char c = peek(parser);
  if (!c)
    return fail(parser, "nothing follows the '\\'");
  ++parser->at;
  if (c == 'b')
    return add_node(parser, NODE_WORD_EDGE);
  if (set_add_class(&set, c))
    return add_set(parser, &set);
  return add_char(parser, control_char(c));
}

static int parse_group(struct parser *parser) {
  bool captures = true;
  int group = 0, inner;
  if (parser->at[0] == '?' && parser->at[1] == ':') {
    parser->at += 2;
    captures = false;
  }
  if (captures) {
    if (parser->regex->group_count == MAX_GROUPS)
      return fail(parser, "too many groups");
    group = parser->regex->group_count++;
  }
  if (++parser->depth > 50)
    return fail(parser, "groups are nested too deep");
  inner = parse_either(parser);
  --parser->depth;
  if (!accept(parser, ')'))
    return fail(parser, "a group lacks its ')'");
  if (captures) {
    inner = add_pair(parser, NODE_GROUP, inner, 0);
    parser->regex->nodes[inner].value = (uint8_t)group;
  }
  return inner;
}

static int parse_any(struct parser *parser) {
  struct set all = {{0}};
  set_add(&all, '\n');
  set_invert(&all);
  return add_set(parser, &all);
}

static int parse_atom(struct parser *parser) {
  char c = *parser->at++;
  switch (c) {
  case '(':
    return parse_group(parser);
  case '[':
    return parse_class(parser);
  case '.':
    return parse_any(parser);
  case '^':
    return add_node(parser, NODE_LINE_START);
  case '$':
    return add_node(parser, NODE_LINE_END);
  case '\\':
    return parse_escape(parser);
  case '*':
  case '+':
  case '?':
    --parser->at;
    return fail(parser, "nothing to repeat");
  default:
    return add_char(parser, c);
  }
}

static int parse_number(struct parser *parser) {
  int number = 0;
  if (peek(parser) < '0' || peek(parser) > '9')
    return fail(parser, "a count is missing");
  while (peek(parser) >= '0' && peek(parser) <= '9') {
    number = number * 10 + (*parser->at++ - '0');
    if (number > MAX_REPEAT)
      return fail(parser, "a count is too large");
  }
  return number;
}

static void parse_counts(struct parser *parser, int *min, int *max) {
  *min = *max = parse_number(parser);
  if (accept(parser, ','))
    *max = peek(parser) == '}' ? -1 : parse_number(parser);
  if (!accept(parser, '}'))
    fail(parser, "counts lack their '}'");
  else if (*max >= 0 && *max < *min)
    fail(parser, "the second count is less than the first");
}

static bool parse_quantifier(struct parser *parser, int *min, int *max) {
  *min = 0;
  *max = -1;
  if (accept(parser, '*'))
    return true;
  if (accept(parser, '+')) {
    *min = 1;
    return true;
  }
  if (accept(parser, '?')) {
    *max = 1;
    return true;
  }
  if (!accept(parser, '{'))
    return false;
  parse_counts(parser, min, max);
  return true;
}

static int parse_repeat(struct parser *parser) {
  int node = parse_atom(parser), min, max;
  while (parse_quantifier(parser, &min, &max)) {
    node = add_pair(parser, NODE_REPEAT, node, 0);
    parser->regex->nodes[node].min = (int16_t)min;
    parser->regex->nodes[node].max = (int16_t)max;
    parser->regex->nodes[node].lazy = accept(parser, '?');
  }
  return node;
}

static int parse_concat(struct parser *parser) {
  int node;
  if (!peek(parser) || peek(parser) == '|' || peek(parser) == ')')
    return add_node(parser, NODE_EMPTY);
  node = parse_repeat(parser);
  while (peek(parser) && peek(parser) != '|' && peek(parser) != ')')
    node = add_pair(parser, NODE_CONCAT, node, parse_repeat(parser));
  return node;
}

static int parse_either(struct parser *parser) {
  int node = parse_concat(parser);
  while (accept(parser, '|'))
    node = add_pair(parser, NODE_EITHER, node, parse_concat(parser));
  return node;
}

int parse_pattern(struct regex *regex, const char *pattern) {
  struct parser parser = {regex, pattern, pattern, 0};
  int root = parse_either(&parser);
  if (accept(&parser, ')'))
    fail(&parser, "a ')' without its '('");
  return root;
}
