/*===- search.c - Running a pattern, all ways at once ---------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "regex.h"

#include <string.h>

#define UNSET SIZE_MAX

struct slots {
  size_t at[2 * MAX_GROUPS];
};

/* The ways that are still open, the preferred one first. */
struct threads {
  int count;
  int16_t pc[MAX_CODE];
  struct slots slots[MAX_CODE];
};

struct search {
  const struct regex *regex;
  const char *text;
  size_t size;
  uint32_t seen[MAX_CODE]; /* the step in which an instruction was added */
  uint32_t step;
};

static bool is_word_at(const struct search *search, size_t at) {
  return at < search->size && is_word_char((unsigned char)search->text[at]);
}

static bool is_word_edge(const struct search *search, size_t at) {
  return is_word_at(search, at) != (at > 0 && is_word_at(search, at - 1));
}

static void add_thread(struct search *search, struct threads *threads, int pc,
                       size_t at, struct slots *slots) {
  const struct instruction *code = &search->regex->code[pc];
  size_t saved;
  if (search->seen[pc] == search->step)
    return;
  search->seen[pc] = search->step;
  switch (code->opcode) {
  case OP_JUMP:
    add_thread(search, threads, code->x, at, slots);
    break;
  case OP_SPLIT:
    add_thread(search, threads, code->x, at, slots);
    add_thread(search, threads, code->y, at, slots);
    break;
  case OP_SAVE:
    saved = slots->at[code->value];
    slots->at[code->value] = at;
    add_thread(search, threads, pc + 1, at, slots);
    slots->at[code->value] = saved;
    break;
  case OP_LINE_START:
    if (at == 0)
      add_thread(search, threads, pc + 1, at, slots);
    break;
  case OP_LINE_END:
    if (at == search->size)
      add_thread(search, threads, pc + 1, at, slots);
    break;
  case OP_WORD_EDGE:
    if (is_word_edge(search, at))
      add_thread(search, threads, pc + 1, at, slots);
    break;
  case OP_CHAR:
  case OP_SET:
  case OP_MATCH:
    threads->pc[threads->count] = (int16_t)pc;
    threads->slots[threads->count++] = *slots;
    break;
  }
}

static bool accepts(const struct regex *regex,
                    const struct instruction *instruction, unsigned char c) {
  if (instruction->opcode == OP_SET)
    return set_has(&regex->sets[instruction->value], c);
  return instruction->value == (regex->ignore_case ? fold(c) : c);
}

/* True if a way has come to its end; less preferred ones are dropped. */
static bool step(struct search *search, struct threads *now,
                 struct threads *next, size_t at, struct slots *matched) {
  next->count = 0;
  ++search->step;
  for (int i = 0; i < now->count; ++i) {
    const struct instruction *code = &search->regex->code[now->pc[i]];
    if (code->opcode == OP_MATCH) {
      *matched = now->slots[i];
      return true;
    }
    if (at < search->size &&
        accepts(search->regex, code, (unsigned char)search->text[at]))
      add_thread(search, next, now->pc[i] + 1, at + 1, &now->slots[i]);
  }
  return false;
}

static void clear_slots(struct slots *slots) {
  for (int i = 0; i < 2 * MAX_GROUPS; ++i)
    slots->at[i] = UNSET;
}

static bool match_at(struct search *search, size_t from,
                     struct slots *matched) {
  static struct threads lists[2];
  struct threads *now = &lists[0], *next = &lists[1], *swap;
  struct slots slots;
  bool found = false;
  clear_slots(&slots);
  now->count = 0;
  ++search->step;
  add_thread(search, now, 0, from, &slots);
  for (size_t at = from; now->count; ++at) {
    if (step(search, now, next, at, matched)) {
      found = true;
      matched->at[0] = from;
      matched->at[1] = at;
    }
    swap = now;
    now = next;
    next = swap;
  }
  return found;
}

bool regex_search(const struct regex *regex, const char *text, size_t size,
                  size_t from, struct match *match) {
  struct search search = {.regex = regex, .text = text, .size = size};
  struct slots slots;
  for (; from <= size; ++from) {
    if (!match_at(&search, from, &slots))
      continue;
    for (int i = 0; i < MAX_GROUPS; ++i) {
      match->start[i] = slots.at[2 * i];
      match->end[i] = slots.at[2 * i + 1];
      match->has[i] = slots.at[2 * i] != UNSET && slots.at[2 * i + 1] != UNSET;
    }
    return true;
  }
  return false;
}
