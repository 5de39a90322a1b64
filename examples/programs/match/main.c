/*===- main.c - match: applies patterns to lines of text ------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "regex.h"

#include <stdio.h>
#include <string.h>

/*
 Lines of the input:  /PATTERN/  or  /PATTERN/i  is what comes next;
 >TEMPLATE  replaces matches by it, \0 to \9 being groups;  > alone lists them;
 # begins a comment; any other line is text to look at.
*/
enum { LINE_SIZE = 256 };

struct session {
  struct regex regex;
  bool has_pattern;
  char replacement[LINE_SIZE];
  unsigned line, tried, matched;
};

static void print_range(const char *text, size_t start, size_t end) {
  fwrite(text + start, 1, end - start, stdout);
}

static void print_match(const struct session *session, const char *text,
                        const struct match *match) {
  printf("  %zu-%zu", match->start[0], match->end[0]);
  for (int i = 0; i < session->regex.group_count; ++i) {
    printf(i ? " %d=" : " ", i);
    if (match->has[i]) {
      putchar('"');
      print_range(text, match->start[i], match->end[i]);
      putchar('"');
    } else {
      putchar('-');
    }
  }
  putchar('\n');
}

static void print_replacement(const char *replacement, const char *text,
                              const struct match *match) {
  for (; *replacement; ++replacement) {
    int group = replacement[1] - '0';
    if (*replacement != '\\' || group < 0 || group >= MAX_GROUPS) {
      putchar(*replacement);
      continue;
    }
    if (match->has[group])
      print_range(text, match->start[group], match->end[group]);
    ++replacement;
  }
}

/* An empty match is followed by a step, or it would be found forever. */
static size_t after(const struct match *match) {
  return match->end[0] + (match->end[0] == match->start[0]);
}

static void list_matches(struct session *session, const char *text) {
  struct match match;
  size_t size = strlen(text), from = 0;
  unsigned count = 0;
  while (regex_search(&session->regex, text, size, from, &match)) {
    if (!count++)
      printf("%u: %s\n", session->line, text);
    print_match(session, text, &match);
    from = after(&match);
  }
  session->matched += count > 0;
}

static void replace_matches(struct session *session, const char *text) {
  struct match match;
  size_t size = strlen(text), from = 0, copied = 0;
  unsigned count = 0;
  printf("%u: ", session->line);
  while (regex_search(&session->regex, text, size, from, &match)) {
    ++count;
    print_range(text, copied, match.start[0]);
    print_replacement(session->replacement, text, &match);
    copied = match.end[0];
    from = after(&match);
  }
  print_range(text, copied, size);
  putchar('\n');
  session->matched += count > 0;
}

static void set_pattern(struct session *session, char *line) {
  char *end = strrchr(line + 1, '/');
  bool ignore_case;
  session->has_pattern = false;
  session->replacement[0] = 0;
  if (!end || (end[1] && strcmp(end + 1, "i") != 0)) {
    printf("%u: a pattern ends in / or /i: %s\n", session->line, line);
    return;
  }
  ignore_case = end[1] == 'i';
  *end = 0;
  if (regex_compile(&session->regex, line + 1, ignore_case)) {
    session->has_pattern = true;
    printf("pattern %s: %d groups, %d instructions\n", line + 1,
           session->regex.group_count - 1, session->regex.code_count);
  } else {
    printf("%u: %s, at %zu of %s\n", session->line, session->regex.error,
           session->regex.error_at, line + 1);
  }
}

static void take_line(struct session *session, char *line) {
  ++session->line;
  line[strcspn(line, "\r\n")] = 0;
  if (line[0] == '#') {
    return;
  } else if (line[0] == '/') {
    set_pattern(session, line);
  } else if (line[0] == '>') {
    snprintf(session->replacement, LINE_SIZE, "%s", line + 1);
  } else if (session->has_pattern) {
    ++session->tried;
    if (session->replacement[0])
      replace_matches(session, line);
    else
      list_matches(session, line);
  }
}

int main(void) {
  static struct session session;
  char line[LINE_SIZE];
  while (fgets(line, sizeof(line), stdin))
    take_line(&session, line);
  printf("%u lines tried, %u matched\n", session.tried, session.matched);
  return fflush(stdout) ? 2 : 0;
}
