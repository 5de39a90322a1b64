/*===- pager.c - Pages of a file, with a cache ----------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "pager.h"

#include <stdlib.h>
#include <string.h>

void fail(const char *why) {
  fflush(stdout);
  fprintf(stderr, "shelf: %s\n", why);
  exit(2);
}

static void seek_page(const struct pager *pager, page_number number) {
  if (fseek(pager->file, (long)number * PAGE_SIZE, SEEK_SET))
    fail("cannot seek in the file");
}

static void read_page(struct pager *pager, struct page *page) {
  seek_page(pager, page->number);
  if (fread(page->data, PAGE_SIZE, 1, pager->file) != 1)
    fail("cannot read a page");
  ++pager->reads;
}

static void write_page(struct pager *pager, struct page *page) {
  seek_page(pager, page->number);
  if (fwrite(page->data, PAGE_SIZE, 1, pager->file) != 1)
    fail("cannot write a page");
  page->dirty = false;
  ++pager->writes;
}

static struct page *find_frame(struct pager *pager, page_number number) {
  for (int i = 0; i < FRAMES; ++i)
    if (pager->frames[i].used && pager->frames[i].number == number)
      return &pager->frames[i];
  return NULL;
}

static bool is_better_victim(const struct page *a, const struct page *b) {
  if (!b || a->used != b->used)
    return !b || !a->used;
  return a->last_use < b->last_use;
}

/* A frame that nobody uses; what it held is in the file afterwards. */
static struct page *take_frame(struct pager *pager, page_number number) {
  struct page *victim = NULL;
  for (int i = 0; i < FRAMES; ++i) {
    struct page *page = &pager->frames[i];
    if (!page->pins && is_better_victim(page, victim))
      victim = page;
  }
  if (!victim)
    fail("all pages of the cache are in use");
  if (victim->used && victim->dirty)
    write_page(pager, victim);
  memset(victim, 0, sizeof(*victim));
  victim->used = true;
  victim->number = number;
  return victim;
}

static struct page *pin(struct pager *pager, struct page *page) {
  ++page->pins;
  page->last_use = ++pager->clock;
  return page;
}

struct page *pager_get(struct pager *pager, page_number number) {
  struct page *page = find_frame(pager, number);
  if (number >= pager->page_count)
    fail("a page lies behind the file's end");
  if (page) {
    ++pager->hits;
    return pin(pager, page);
  }
  page = take_frame(pager, number);
  read_page(pager, page);
  return pin(pager, page);
}

struct page *pager_new(struct pager *pager) {
  struct page *page;
  if (pager->free_list) {
    page = pager_get(pager, pager->free_list);
    pager->free_list = load_u32(page->data);
    memset(page->data, 0, PAGE_SIZE);
  } else {
    page = pin(pager, take_frame(pager, pager->page_count++));
    write_page(pager, page); /* so that the file is as long as it claims */
  }
  mark_dirty(page);
  return page;
}

void pager_release(struct page *page) {
  if (!page->pins)
    fail("a page was released twice");
  --page->pins;
}

void pager_drop(struct pager *pager, struct page *page) {
  memset(page->data, 0, PAGE_SIZE);
  store_u32(page->data, pager->free_list);
  pager->free_list = page->number;
  mark_dirty(page);
  pager_release(page);
}

void pager_open(struct pager *pager, FILE *file) {
  struct page *head;
  memset(pager, 0, sizeof(*pager));
  pager->file = file;
  head = pager_new(pager);
  pager_release(head);
}

void pager_close(struct pager *pager) {
  struct page *head = pager_get(pager, 0);
  store_u32(head->data, pager->root);
  store_u32(head->data + 4, pager->free_list);
  store_u32(head->data + 8, pager->page_count);
  mark_dirty(head);
  pager_release(head);
  for (int i = 0; i < FRAMES; ++i)
    if (pager->frames[i].used && pager->frames[i].dirty)
      write_page(pager, &pager->frames[i]);
  if (fclose(pager->file))
    fail("cannot close the file");
}
