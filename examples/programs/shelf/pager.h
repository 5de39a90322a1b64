/*===- pager.h - Pages of a file, with a cache --------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SHELF_PAGER_H
#define SHELF_PAGER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { PAGE_SIZE = 512, FRAMES = 12 };

typedef uint32_t page_number; /* 0 is the file's head: no page of the tree */

struct page {
  page_number number;
  bool used, dirty;
  unsigned pins;
  unsigned long last_use;
  uint8_t data[PAGE_SIZE];
};

/* A page that was got stays where it is until it is released. */
struct pager {
  FILE *file;
  struct page frames[FRAMES];
  page_number page_count, free_list, root;
  unsigned long clock, hits, reads, writes;
};

/* Ends the program: the file cannot be trusted any more. */
_Noreturn void fail(const char *why);

void pager_open(struct pager *pager, FILE *file);
void pager_close(struct pager *pager);
struct page *pager_get(struct pager *pager, page_number number);
struct page *pager_new(struct pager *pager);
void pager_release(struct page *page);
void pager_drop(struct pager *pager, struct page *page);

static inline void mark_dirty(struct page *page) { page->dirty = true; }

/* Numbers in pages are little-endian. */
static inline uint32_t load_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
         (uint32_t)at[3] << 24;
}

static inline void store_u32(uint8_t *at, uint32_t value) {
  at[0] = (uint8_t)value;
  at[1] = (uint8_t)(value >> 8);
  at[2] = (uint8_t)(value >> 16);
  at[3] = (uint8_t)(value >> 24);
}

#endif
