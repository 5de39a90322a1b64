/*===- layout.h - Breaking paragraphs into lines ------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef FILL_LAYOUT_H
#define FILL_LAYOUT_H

#include "text.h"

enum align { ALIGN_LEFT, ALIGN_RIGHT, ALIGN_CENTER, ALIGN_JUSTIFY };

struct style {
  enum align align;
  size_t width;  /* of the page, indentation included */
  size_t indent; /* columns left of every line */
};

bool parse_align(const char *name, enum align *align);

/* Adds one line, aligned, with its newline. */
void layout_line(struct text *out, const struct style *style, char **words,
                 size_t count, bool is_last);

/* Adds a paragraph, broken where the sum of squared gaps is smallest. */
void layout_paragraph(struct text *out, const struct style *style,
                      const struct words *words);

/* Adds a text of one line, aligned and with a rule below unless that is 0. */
void layout_heading(struct text *out, const struct style *style,
                    const char *heading, char rule);

#endif
