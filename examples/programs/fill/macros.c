/*===- macros.c - Names for pieces of text --------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "macros.h"

#include <stdlib.h>
#include <string.h>

static struct macro *find_macro(const struct document *document,
                                const char *name, size_t size) {
  for (size_t i = 0; i < document->macro_count; ++i) {
    struct macro *macro = &document->macros[i];
    if (strlen(macro->name) == size && !memcmp(macro->name, name, size))
      return macro;
  }
  return NULL;
}

void macro_define(struct document *document, const char *name, size_t size,
                  const char *value) {
  struct macro *macro = find_macro(document, name, size);
  if (macro) {
    free(macro->value);
  } else {
    document->macros =
        grow(document->macros, &document->macro_capacity,
             document->macro_count + 1, sizeof(*document->macros));
    macro = &document->macros[document->macro_count++];
    macro->name = copy_range(name, size);
  }
  macro->value = copy_string(value);
}

enum { MAX_DEPTH = 8 }; /* of macros in macros, which may call themselves */

static void expand(const struct document *document, const char *from,
                   const char *end, struct text *out, struct words *unknown,
                   int depth) {
  while (from < end) {
    const char *close = NULL;
    const struct macro *macro;
    if (from[0] == '$' && from + 1 < end && from[1] == '{')
      close = memchr(from, '}', (size_t)(end - from));
    if (!close) {
      text_add_char(out, *from++);
      continue;
    }
    macro = find_macro(document, from + 2, (size_t)(close - from) - 2);
    if (macro && depth < MAX_DEPTH)
      expand(document, macro->value, macro->value + strlen(macro->value), out,
             unknown, depth + 1);
    else
      words_add_range(unknown, from + 2, (size_t)(close - from) - 2);
    from = close + 1;
  }
}

void macro_expand(const struct document *document, const char *line,
                  struct text *out, struct words *unknown) {
  expand(document, line, line + strlen(line), out, unknown, 0);
}

void macro_free_all(struct document *document) {
  for (size_t i = 0; i < document->macro_count; ++i) {
    free(document->macros[i].name);
    free(document->macros[i].value);
  }
  free(document->macros);
  document->macros = NULL;
  document->macro_count = document->macro_capacity = 0;
}
