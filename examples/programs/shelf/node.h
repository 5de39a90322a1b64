/*===- node.h - A page as a node of the tree ----------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SHELF_NODE_H
#define SHELF_NODE_H

#include "pager.h"

/* Byte 0: count of cells; 1: leaf or not; 4: cells; then the children. */
enum {
  TEXT_SIZE = 20, /* of a key and of a value, with their final zero */
  CELL_SIZE = 2 * TEXT_SIZE,
  MIN_CELLS = 5,
  MAX_CELLS = 2 * MIN_CELLS + 1,
  CELLS_AT = 4,
  CHILDREN_AT = CELLS_AT + MAX_CELLS * CELL_SIZE
};

static inline unsigned node_count(const struct page *node) {
  return node->data[0];
}

static inline bool is_leaf(const struct page *node) {
  return node->data[1] != 0;
}

static inline bool is_full(const struct page *node) {
  return node_count(node) == MAX_CELLS;
}

static inline bool can_give(const struct page *node) {
  return node_count(node) > MIN_CELLS;
}

static inline uint8_t *cell_at(struct page *node, unsigned i) {
  return node->data + CELLS_AT + i * CELL_SIZE;
}

static inline const char *node_key(const struct page *node, unsigned i) {
  return (const char *)node->data + CELLS_AT + i * CELL_SIZE;
}

static inline const char *node_value(const struct page *node, unsigned i) {
  return node_key(node, i) + TEXT_SIZE;
}

static inline page_number node_child(const struct page *node, unsigned i) {
  return load_u32(node->data + CHILDREN_AT + 4 * i);
}

void node_init(struct page *node, bool leaf);
/* The first cell whose key is not less; *found: it is the key itself. */
unsigned node_find(const struct page *node, const char *key, bool *found);
void node_set_child(struct page *node, unsigned i, page_number child);
void node_set_value(struct page *node, unsigned i, const char *value);
void node_copy_cell(struct page *to, unsigned i, const struct page *from,
                    unsigned j);
/* Cells and the children to their right move up or down by one. */
void node_open_gap(struct page *node, unsigned i);
void node_close_gap(struct page *node, unsigned i);
void node_insert(struct page *node, unsigned i, const char *key,
                 const char *value);

/* These move cells between children i and i + 1 of parent. */
void node_split_child(struct pager *pager, struct page *parent, unsigned i,
                      struct page *child);
void node_merge(struct pager *pager, struct page *parent, unsigned i,
                struct page *left, struct page *right);
void node_rotate_right(struct page *parent, unsigned i, struct page *left,
                       struct page *right);
void node_rotate_left(struct page *parent, unsigned i, struct page *left,
                      struct page *right);

#endif
