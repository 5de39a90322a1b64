/*===- document.c - A document: commands and paragraphs -------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "document.h"
#include "macros.h"

#include <stdlib.h>
#include <string.h>

static void report(struct document *document, const char *what,
                   const char *culprit) {
  struct text *out = &document->out;
  ++document->errors;
  text_add(out, "[line ");
  text_add_number(out, document->line);
  text_add(out, ": ");
  text_add(out, what);
  text_add(out, " '");
  text_add(out, culprit);
  text_add(out, "']\n");
}

static void blank_line(struct document *document) {
  const struct text *out = &document->out;
  if (out->size >= 2 && !memcmp(out->data + out->size - 2, "\n\n", 2))
    return;
  if (out->size)
    text_add_char(&document->out, '\n');
}

static bool in_list(const struct document *document) {
  return document->lists > 0;
}

static void end_paragraph(struct document *document) {
  if (!document->paragraph.count)
    return;
  layout_paragraph(&document->out, &document->style, &document->paragraph);
  words_clear(&document->paragraph);
  if (!in_list(document))
    blank_line(document);
}

/* The mark stands in the indentation of the item's first line. */
static void end_item(struct document *document) {
  struct text mark = {0};
  size_t start = document->out.size;
  unsigned number;
  if (!document->in_item)
    return;
  document->in_item = false;
  number = document->list_items[document->lists - 1];
  end_paragraph(document);
  text_add_number(&mark, number);
  text_add_char(&mark, '.');
  if (document->out.size > start && document->style.indent >= 4 &&
      mark.size < 4)
    memcpy(document->out.data + start + document->style.indent - 4, mark.data,
           mark.size);
  text_free(&mark);
}

static void finish_block(struct document *document) {
  end_item(document);
  end_paragraph(document);
}

/* Takes ^[…] out of the line, keeps it as a note and leaves its number. */
static void collect_notes(struct document *document, const char *line,
                          struct text *out) {
  while (*line) {
    const char *end = line[0] == '^' && line[1] == '[' ? strchr(line, ']') : 0;
    if (!end) {
      text_add_char(out, *line++);
      continue;
    }
    words_add_range(&document->notes, line + 2, (size_t)(end - line) - 2);
    text_add_char(out, '[');
    text_add_number(out, document->notes.count);
    text_add_char(out, ']');
    line = end + 1;
  }
}

static void add_running_text(struct document *document, const char *line) {
  struct text expanded = {0}, final = {0};
  struct words unknown = {0};
  macro_expand(document, line, &expanded, &unknown);
  for (size_t i = 0; i < unknown.count; ++i)
    report(document, "macro without a value", unknown.items[i]);
  collect_notes(document, text_string(&expanded), &final);
  words_split(&document->paragraph, text_string(&final));
  words_free(&unknown);
  text_free(&expanded);
  text_free(&final);
}

static struct heading *add_heading(struct document *document,
                                   const char *title) {
  struct heading *heading;
  document->headings =
      grow(document->headings, &document->heading_capacity,
           document->heading_count + 1, sizeof(*document->headings));
  heading = &document->headings[document->heading_count++];
  memset(heading, 0, sizeof(*heading));
  heading->title = copy_string(title);
  return heading;
}

static void add_heading_number(struct text *out,
                               const struct heading *heading) {
  text_add_number(out, heading->section);
  if (heading->subsection) {
    text_add_char(out, '.');
    text_add_number(out, heading->subsection);
  }
  text_add_char(out, ' ');
}

static void start_section(struct document *document, const char *title,
                          bool is_sub) {
  struct heading last = {0}, *heading;
  struct text line = {0};
  struct style style = document->style;
  if (document->heading_count)
    last = document->headings[document->heading_count - 1];
  heading = add_heading(document, title);
  heading->section = is_sub && last.section ? last.section : last.section + 1;
  heading->subsection = is_sub ? last.subsection + 1 : 0;
  add_heading_number(&line, heading);
  text_add(&line, title);
  style.indent = 0;
  style.align = ALIGN_LEFT;
  blank_line(document);
  layout_heading(&document->out, &style, text_string(&line),
                 is_sub ? '-' : '=');
  blank_line(document);
  text_free(&line);
}

static void cmd_title(struct document *document, const char *rest) {
  struct style style = document->style;
  style.align = ALIGN_CENTER;
  layout_heading(&document->out, &style, rest, '*');
  blank_line(document);
}

static void cmd_section(struct document *document, const char *rest) {
  start_section(document, rest, false);
}

static void cmd_subsection(struct document *document, const char *rest) {
  start_section(document, rest, true);
}

static void cmd_align(struct document *document, const char *rest) {
  if (!parse_align(rest, &document->style.align))
    report(document, "no such alignment", rest);
}

static bool parse_size(const char *digits, size_t most, size_t *size) {
  char *end;
  unsigned long value = strtoul(digits, &end, 10);
  if (end == digits || *end || value > most)
    return false;
  *size = value;
  return true;
}

static void cmd_width(struct document *document, const char *rest) {
  size_t width;
  if (!parse_size(rest, 200, &width) || width < 20)
    report(document, "width is not 20 to 200", rest);
  else
    document->style.width = width;
}

static void cmd_indent(struct document *document, const char *rest) {
  if (!parse_size(rest, 40, &document->style.indent))
    report(document, "indentation is not 0 to 40", rest);
}

static void cmd_define(struct document *document, const char *rest) {
  size_t size = strcspn(rest, " \t");
  if (!size)
    report(document, "a definition needs a name", rest);
  else
    macro_define(document, rest, size, skip_blanks(rest + size));
}

static void cmd_list(struct document *document, const char *rest) {
  if (document->lists == MAX_LISTS) {
    report(document, "lists are nested too deep", rest);
    return;
  }
  document->list_items[document->lists++] = 0;
  document->style.indent += 4;
}

static void cmd_item(struct document *document, const char *rest) {
  if (!in_list(document)) {
    report(document, "item outside of a list", rest);
    return;
  }
  ++document->list_items[document->lists - 1];
  document->in_item = true;
  add_running_text(document, rest);
}

static void cmd_table(struct document *document, const char *rest) {
  (void)rest;
  document->in_table = true;
}

static void cmd_verbatim(struct document *document, const char *rest) {
  (void)rest;
  document->in_verbatim = true;
}

static void cmd_end(struct document *document, const char *rest) {
  if (document->in_table) {
    document->in_table = false;
    table_print(&document->table, &document->out, document->style.indent);
    table_clear(&document->table);
    blank_line(document);
  } else if (document->in_verbatim) {
    document->in_verbatim = false;
    blank_line(document);
  } else if (in_list(document)) {
    --document->lists;
    document->style.indent -= document->style.indent < 4 ? 0 : 4;
    if (!in_list(document))
      blank_line(document);
  } else {
    report(document, "nothing to end", rest);
  }
}

static const struct command {
  const char *name;
  void (*run)(struct document *document, const char *rest);
} commands[] = {
    {"align", cmd_align},       {"define", cmd_define},
    {"end", cmd_end},           {"indent", cmd_indent},
    {"item", cmd_item},         {"list", cmd_list},
    {"section", cmd_section},   {"subsection", cmd_subsection},
    {"table", cmd_table},       {"title", cmd_title},
    {"verbatim", cmd_verbatim}, {"width", cmd_width},
};

static const struct command *find_command(const char *name, size_t size) {
  for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); ++i)
    if (strlen(commands[i].name) == size &&
        !memcmp(commands[i].name, name, size))
      return &commands[i];
  return NULL;
}

static void run_command(struct document *document, const char *line) {
  size_t size = strcspn(line, " \t\r");
  const struct command *command = find_command(line, size);
  char *rest = trimmed_copy(line + size, line + strlen(line));
  finish_block(document);
  if (command)
    command->run(document, rest);
  else
    report(document, "no such command", line);
  free(rest);
}

static bool is_end(const char *line) { return !strncmp(line, ".end", 4); }

void document_init(struct document *document, size_t width) {
  memset(document, 0, sizeof(*document));
  document->style.align = ALIGN_LEFT;
  document->style.width = width;
}

void document_line(struct document *document, const char *line) {
  ++document->line;
  if (document->in_verbatim && !is_end(line)) {
    text_pad(&document->out, ' ', document->style.indent);
    text_add(&document->out, line);
    text_add_char(&document->out, '\n');
  } else if (document->in_table && !is_end(line)) {
    table_add_row(&document->table, line);
  } else if (line[0] == '.') {
    run_command(document, line + 1);
  } else if (!*skip_blanks(line)) {
    finish_block(document);
  } else {
    add_running_text(document, line);
  }
}

static void print_notes(struct document *document) {
  struct style style = {ALIGN_LEFT, document->style.width, 4};
  if (!document->notes.count)
    return;
  layout_heading(&document->out, &(struct style){ALIGN_LEFT, 80, 0}, "Notes",
                 '-');
  for (size_t i = 0; i < document->notes.count; ++i) {
    struct words words = {0};
    text_add_char(&document->out, '[');
    text_add_number(&document->out, i + 1);
    text_add(&document->out, "]\n");
    words_split(&words, document->notes.items[i]);
    layout_paragraph(&document->out, &style, &words);
    words_free(&words);
  }
  blank_line(document);
}

static void print_contents(struct document *document) {
  if (!document->heading_count)
    return;
  layout_heading(&document->out, &(struct style){ALIGN_LEFT, 80, 0}, "Contents",
                 '-');
  for (size_t i = 0; i < document->heading_count; ++i) {
    const struct heading *heading = &document->headings[i];
    text_pad(&document->out, ' ', heading->subsection ? 4 : 2);
    add_heading_number(&document->out, heading);
    text_add(&document->out, heading->title);
    text_add_char(&document->out, '\n');
  }
}

void document_finish(struct document *document) {
  finish_block(document);
  while (document->in_table || document->in_verbatim || in_list(document)) {
    report(document, "still open at the end of the text",
           document->in_table      ? "table"
           : document->in_verbatim ? "verbatim"
                                   : "list");
    cmd_end(document, "");
  }
  print_notes(document);
  print_contents(document);
}

void document_free(struct document *document) {
  for (size_t i = 0; i < document->heading_count; ++i)
    free(document->headings[i].title);
  free(document->headings);
  macro_free_all(document);
  table_free(&document->table);
  words_free(&document->paragraph);
  words_free(&document->notes);
  text_free(&document->out);
}
