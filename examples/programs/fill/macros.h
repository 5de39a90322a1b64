/*===- macros.h - Names for pieces of text ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef FILL_MACROS_H
#define FILL_MACROS_H

#include "document.h"

/* Defines the macro, or gives it another value. */
void macro_define(struct document *document, const char *name, size_t size,
                  const char *value);
/* Adds line with each ${name} replaced. Names without a value, and macros that
   never end, are left out and added to unknown. */
void macro_expand(const struct document *document, const char *line,
                  struct text *out, struct words *unknown);
void macro_free_all(struct document *document);

#endif
