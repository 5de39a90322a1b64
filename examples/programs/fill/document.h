/*===- document.h - A document: commands and paragraphs -----------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef FILL_DOCUMENT_H
#define FILL_DOCUMENT_H

#include "layout.h"
#include "table.h"

struct macro {
  char *name, *value;
};

struct heading {
  char *title;
  unsigned section, subsection; /* 0: it is a section's own */
};

enum { MAX_LISTS = 6 };

/* What has been read so far. Lines go in, formatted text comes out. */
struct document {
  struct text out;
  struct words paragraph, notes;
  struct table table;
  bool in_table, in_verbatim, in_item;
  struct style style;
  unsigned list_items[MAX_LISTS]; /* counters of the open lists */
  size_t lists;
  struct macro *macros;
  size_t macro_count, macro_capacity;
  struct heading *headings;
  size_t heading_count, heading_capacity;
  unsigned line, errors;
};

void document_init(struct document *document, size_t width);
void document_line(struct document *document, const char *line);
/* Ends what is open, and adds footnotes, contents and error count. */
void document_finish(struct document *document);
void document_free(struct document *document);

#endif
