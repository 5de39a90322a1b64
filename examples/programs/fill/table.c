/*===- table.c - Tables whose columns fit their cells ---------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 16 };

struct columns {
  size_t count;
  size_t width[MAX_COLUMNS];
  bool is_number[MAX_COLUMNS]; /* all cells below the head are numbers */
};

static bool looks_like_number(const char *cell) {
  bool digits = false;
  if (*cell == '-' || *cell == '+')
    ++cell;
  for (; *cell; ++cell) {
    if (isdigit((unsigned char)*cell))
      digits = true;
    else if (!strchr(".,%", *cell))
      return false;
  }
  return digits;
}

void table_add_row(struct table *table, const char *line) {
  struct words *row;
  table->rows = grow(table->rows, &table->capacity, table->count + 1,
                     sizeof(*table->rows));
  row = &table->rows[table->count++];
  memset(row, 0, sizeof(*row));
  for (;;) {
    const char *end = strchr(line, '|');
    char *cell = trimmed_copy(line, end ? end : line + strlen(line));
    if (row->count < MAX_COLUMNS)
      words_add(row, cell);
    free(cell);
    if (!end)
      return;
    line = end + 1;
  }
}

static const char *cell_at(const struct words *row, size_t column) {
  return column < row->count ? row->items[column] : "";
}

static void measure_row(struct columns *columns, const struct words *row,
                        bool is_head) {
  if (row->count > columns->count)
    columns->count = row->count;
  for (size_t i = 0; i < row->count; ++i) {
    size_t size = strlen(row->items[i]);
    if (size > columns->width[i])
      columns->width[i] = size;
    if (!is_head && size && !looks_like_number(row->items[i]))
      columns->is_number[i] = false;
  }
}

static void measure(struct columns *columns, const struct table *table) {
  memset(columns, 0, sizeof(*columns));
  for (size_t i = 0; i < MAX_COLUMNS; ++i)
    columns->is_number[i] = true;
  for (size_t i = 0; i < table->count; ++i)
    measure_row(columns, &table->rows[i], i == 0);
}

static void print_rule(const struct columns *columns, struct text *out,
                       size_t indent) {
  text_pad(out, ' ', indent);
  for (size_t i = 0; i < columns->count; ++i) {
    text_add_char(out, '+');
    text_pad(out, '-', columns->width[i] + 2);
  }
  text_add(out, "+\n");
}

static void print_cell(struct text *out, const char *cell, size_t width,
                       bool to_the_right) {
  size_t spare = width - strlen(cell);
  text_add(out, "| ");
  if (to_the_right)
    text_pad(out, ' ', spare);
  text_add(out, cell);
  if (!to_the_right)
    text_pad(out, ' ', spare);
  text_add_char(out, ' ');
}

static void print_row(const struct columns *columns, const struct words *row,
                      struct text *out, size_t indent, bool is_head) {
  text_pad(out, ' ', indent);
  for (size_t i = 0; i < columns->count; ++i)
    print_cell(out, cell_at(row, i), columns->width[i],
               columns->is_number[i] && !is_head);
  text_add(out, "|\n");
}

void table_print(const struct table *table, struct text *out, size_t indent) {
  struct columns columns;
  if (!table->count)
    return;
  measure(&columns, table);
  print_rule(&columns, out, indent);
  for (size_t i = 0; i < table->count; ++i) {
    print_row(&columns, &table->rows[i], out, indent, i == 0);
    if (i == 0)
      print_rule(&columns, out, indent);
  }
  print_rule(&columns, out, indent);
}

void table_clear(struct table *table) {
  while (table->count)
    words_free(&table->rows[--table->count]);
}

void table_free(struct table *table) {
  table_clear(table);
  free(table->rows);
  memset(table, 0, sizeof(*table));
}
