/*===- main.c - shelf: runs commands on a map in a file -------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "tree.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 4, LINE_SIZE = 128 };

struct command_line {
  unsigned number, count;
  char *words[MAX_WORDS];
};

static const char *word(const struct command_line *line, unsigned i) {
  return i < line->count ? line->words[i] : "";
}

/* The last word takes the rest of the line. */
static void split(struct command_line *line, char *text) {
  text[strcspn(text, "\r\n#")] = 0;
  line->count = 0;
  for (text += strspn(text, " "); *text && line->count < MAX_WORDS;) {
    line->words[line->count++] = text;
    if (line->count == 3 && !strcmp(line->words[0], "put"))
      return;
    text += strcspn(text, " ");
    if (*text)
      *text++ = 0;
    text += strspn(text, " ");
  }
}

static void complain(const struct command_line *line, const char *why) {
  printf("line %u: %s: %s\n", line->number, word(line, 0), why);
}

static bool fits(const struct command_line *line, const char *text) {
  if (*text && strlen(text) < TEXT_SIZE)
    return true;
  complain(line, *text ? "text is too long" : "text is missing");
  return false;
}

static void run_put(struct pager *pager, const struct command_line *line) {
  if (fits(line, word(line, 1)) && fits(line, word(line, 2)))
    printf("%s %s\n", word(line, 1),
           tree_put(pager, word(line, 1), word(line, 2)) ? "added" : "changed");
}

static void run_get(struct pager *pager, const struct command_line *line) {
  char value[TEXT_SIZE];
  if (!fits(line, word(line, 1)))
    return;
  if (tree_get(pager, word(line, 1), value))
    printf("%s = %s\n", word(line, 1), value);
  else
    complain(line, "no such key");
}

static void run_del(struct pager *pager, const struct command_line *line) {
  if (!fits(line, word(line, 1)))
    return;
  if (tree_delete(pager, word(line, 1)))
    printf("%s deleted\n", word(line, 1));
  else
    complain(line, "no such key");
}

static void print_cell(void *context, const char *key, const char *value) {
  ++*(unsigned *)context;
  printf("  %-19s %s\n", key, value);
}

static void run_scan(struct pager *pager, const struct command_line *line) {
  unsigned count = 0;
  if (!fits(line, word(line, 1)) || !fits(line, word(line, 2)))
    return;
  tree_scan(pager, word(line, 1), word(line, 2), print_cell, &count);
  printf("%u keys\n", count);
}

static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static void make_key(char *key, uint32_t number) {
  static const char *const things[] = {"anchor", "bell", "chart", "deck",
                                       "engine", "flag", "gauge", "hull"};
  snprintf(key, TEXT_SIZE, "%s-%04u", things[number % 8],
           (unsigned)(number / 8 % 2000));
}

/* `many COUNT SEED` puts that many keys, `drop COUNT SEED` deletes them. */
static void run_batch(struct pager *pager, const struct command_line *line,
                      bool put) {
  uint32_t state = (uint32_t)strtoul(word(line, 2), NULL, 10);
  unsigned long count = strtoul(word(line, 1), NULL, 10);
  unsigned changed = 0;
  char key[TEXT_SIZE], value[TEXT_SIZE];
  if (!state || !count || count > 100000) {
    complain(line, "needs a count up to 100000 and a seed, both above 0");
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    make_key(key, next_random(&state));
    snprintf(value, TEXT_SIZE, "lot %u", i);
    changed += put ? tree_put(pager, key, value) : tree_delete(pager, key);
  }
  printf("%u of %lu keys %s\n", changed, count, put ? "added" : "deleted");
}

static void run_check(struct pager *pager) {
  struct shape shape = tree_check(pager);
  printf("depth %u, %u nodes, %u keys, %u errors; file of %u pages\n",
         shape.depth, shape.nodes, shape.cells, shape.errors,
         (unsigned)pager->page_count);
}

static void run_line(struct pager *pager, const struct command_line *line) {
  const char *name = word(line, 0);
  if (!*name)
    return;
  if (!strcmp(name, "put"))
    run_put(pager, line);
  else if (!strcmp(name, "get"))
    run_get(pager, line);
  else if (!strcmp(name, "del"))
    run_del(pager, line);
  else if (!strcmp(name, "scan"))
    run_scan(pager, line);
  else if (!strcmp(name, "many"))
    run_batch(pager, line, true);
  else if (!strcmp(name, "drop"))
    run_batch(pager, line, false);
  else if (!strcmp(name, "check"))
    run_check(pager);
  else
    complain(line, "no such command");
}

int main(void) {
  static struct pager pager;
  struct command_line line = {0};
  char text[LINE_SIZE];
  FILE *file = tmpfile();
  if (!file)
    fail("cannot make a temporary file");
  pager_open(&pager, file);
  tree_init(&pager);
  while (fgets(text, sizeof(text), stdin)) {
    ++line.number;
    split(&line, text);
    run_line(&pager, &line);
  }
  pager_close(&pager);
  printf("pages: %lu found in the cache, %lu read, %lu written\n", pager.hits,
         pager.reads, pager.writes);
  return fflush(stdout) ? 2 : 0;
}
