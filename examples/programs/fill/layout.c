/*===- layout.c - Breaking paragraphs into lines --------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "layout.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool parse_align(const char *name, enum align *align) {
  static const char *const names[] = {"left", "right", "center", "justify"};
  for (size_t i = 0; i < sizeof(names) / sizeof(*names); ++i)
    if (!strcmp(name, names[i])) {
      *align = (enum align)i;
      return true;
    }
  return false;
}

static size_t line_width(const struct style *style) {
  size_t least = 8; /* so that a deep indentation still leaves a column */
  return style->width > style->indent + least ? style->width - style->indent
                                              : least;
}

static size_t natural_width(char **words, size_t count) {
  size_t width = count ? count - 1 : 0;
  for (size_t i = 0; i < count; ++i)
    width += strlen(words[i]);
  return width;
}

static void add_spaced(struct text *out, char **words, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i)
      text_add_char(out, ' ');
    text_add(out, words[i]);
  }
}

/* Spreads spare columns over the gaps; the leftmost gaps get what is left. */
static void add_justified(struct text *out, char **words, size_t count,
                          size_t spare) {
  size_t gaps = count - 1;
  for (size_t i = 0; i < count; ++i) {
    text_add(out, words[i]);
    if (i < gaps)
      text_pad(out, ' ', 1 + spare / gaps + (i < spare % gaps));
  }
}

void layout_line(struct text *out, const struct style *style, char **words,
                 size_t count, bool is_last) {
  size_t width = line_width(style), taken = natural_width(words, count);
  size_t spare = width > taken ? width - taken : 0;
  text_pad(out, ' ', style->indent);
  switch (style->align) {
  case ALIGN_RIGHT:
    text_pad(out, ' ', spare);
    add_spaced(out, words, count);
    break;
  case ALIGN_CENTER:
    text_pad(out, ' ', spare / 2);
    add_spaced(out, words, count);
    break;
  case ALIGN_JUSTIFY:
    if (!is_last && count > 1) {
      add_justified(out, words, count, spare);
      break;
    }
    /* fall through */
  case ALIGN_LEFT:
    add_spaced(out, words, count);
    break;
  }
  text_add_char(out, '\n');
}

struct breaks {
  uint64_t *cost; /* of the best layout of the words from here on */
  size_t *next;   /* first word of the line that follows this one */
};

static void *allocate(size_t count, size_t item_size) {
  void *memory = calloc(count, item_size);
  if (!memory)
    out_of_memory();
  return memory;
}

static uint64_t gap_cost(size_t width, size_t taken, bool is_last) {
  uint64_t gap;
  if (taken > width)
    return (uint64_t)1 << 40; /* a word that fits nowhere */
  if (is_last)
    return 0;
  gap = width - taken;
  return gap * gap;
}

static void best_break(const struct breaks *breaks, const struct words *words,
                       size_t from, size_t width) {
  size_t taken = 0;
  breaks->cost[from] = UINT64_MAX;
  for (size_t to = from + 1; to <= words->count; ++to) {
    uint64_t cost;
    taken += strlen(words->items[to - 1]) + (to > from + 1);
    if (taken > width && to > from + 1)
      break;
    cost = gap_cost(width, taken, to == words->count) + breaks->cost[to];
    if (cost < breaks->cost[from]) {
      breaks->cost[from] = cost;
      breaks->next[from] = to;
    }
  }
}

void layout_paragraph(struct text *out, const struct style *style,
                      const struct words *words) {
  struct breaks breaks;
  size_t width = line_width(style);
  if (!words->count)
    return;
  breaks.cost = allocate(words->count + 1, sizeof(*breaks.cost));
  breaks.next = allocate(words->count + 1, sizeof(*breaks.next));
  for (size_t i = words->count; i-- > 0;)
    best_break(&breaks, words, i, width);
  for (size_t i = 0; i < words->count; i = breaks.next[i])
    layout_line(out, style, words->items + i, breaks.next[i] - i,
                breaks.next[i] == words->count);
  free(breaks.cost);
  free(breaks.next);
}

void layout_heading(struct text *out, const struct style *style,
                    const char *heading, char rule) {
  size_t size = strlen(heading), width = line_width(style);
  size_t before = style->indent;
  if (style->align == ALIGN_CENTER && size < width)
    before += (width - size) / 2;
  text_pad(out, ' ', before);
  text_add(out, heading);
  text_add_char(out, '\n');
  if (rule) {
    text_pad(out, ' ', before);
    text_pad(out, rule, size);
    text_add_char(out, '\n');
  }
}
