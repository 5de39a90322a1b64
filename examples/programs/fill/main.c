/*===- main.c - fill [-w WIDTH] FILE: formats a text ----------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
  fputs("usage: fill [-w WIDTH] FILE\n", stderr);
  return 2;
}

static void format_stream(struct document *document, FILE *file) {
  struct text line = {0};
  int c;
  while ((c = getc(file)) != EOF) {
    if (c != '\n') {
      text_add_char(&line, (char)c);
      continue;
    }
    document_line(document, text_string(&line));
    text_clear(&line);
  }
  if (line.size)
    document_line(document, text_string(&line));
  text_free(&line);
  document_finish(document);
}

int main(int argc, char **argv) {
  struct document document;
  unsigned long width = 72;
  FILE *file;
  int status = 0;
  if (argc == 4 && !strcmp(argv[1], "-w")) {
    width = strtoul(argv[2], NULL, 10);
    argc -= 2;
    argv += 2;
  }
  if (argc != 2 || width < 20 || width > 200)
    return usage();
  file = fopen(argv[1], "r");
  if (!file) {
    perror(argv[1]);
    return 2;
  }
  document_init(&document, width);
  format_stream(&document, file);
  fputs(text_string(&document.out), stdout);
  printf("\n%u lines read, %u errors\n", document.line, document.errors);
  if (ferror(file) || fflush(stdout)) {
    fputs("fill: cannot read or write\n", stderr);
    status = 2;
  }
  fclose(file);
  document_free(&document);
  return status;
}
