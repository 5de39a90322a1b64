/*===- table.h - Tables whose columns fit their cells -------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef FILL_TABLE_H
#define FILL_TABLE_H

#include "text.h"

/* Rows of cells. The first row is the head. All zero is the empty table. */
struct table {
  struct words *rows;
  size_t count, capacity;
};

/* Adds a row from cells between bars: "a | b | c". */
void table_add_row(struct table *table, const char *line);
void table_print(const struct table *table, struct text *out, size_t indent);
void table_clear(struct table *table);
void table_free(struct table *table);

#endif
