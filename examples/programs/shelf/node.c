/*===- node.c - A page as a node of the tree ------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "node.h"

#include <string.h>

static void set_count(struct page *node, unsigned count) {
  if (count > MAX_CELLS)
    fail("a node has too many cells");
  node->data[0] = (uint8_t)count;
  mark_dirty(node);
}

void node_init(struct page *node, bool leaf) {
  set_count(node, 0);
  node->data[1] = leaf;
}

unsigned node_find(const struct page *node, const char *key, bool *found) {
  unsigned low = 0, high = node_count(node);
  *found = false;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    int order = strcmp(node_key(node, middle), key);
    if (order == 0) {
      *found = true;
      return middle;
    }
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void node_set_child(struct page *node, unsigned i, page_number child) {
  store_u32(node->data + CHILDREN_AT + 4 * i, child);
  mark_dirty(node);
}

static void store_text(uint8_t *at, const char *text) {
  size_t size = strlen(text);
  if (size >= TEXT_SIZE)
    fail("a text is too long for a cell");
  memset(at, 0, TEXT_SIZE);
  memcpy(at, text, size);
}

void node_set_value(struct page *node, unsigned i, const char *value) {
  store_text(cell_at(node, i) + TEXT_SIZE, value);
  mark_dirty(node);
}

void node_copy_cell(struct page *to, unsigned i, const struct page *from,
                    unsigned j) {
  memcpy(cell_at(to, i), node_key(from, j), CELL_SIZE);
  mark_dirty(to);
}

void node_open_gap(struct page *node, unsigned i) {
  unsigned count = node_count(node);
  set_count(node, count + 1);
  memmove(cell_at(node, i + 1), cell_at(node, i),
          (size_t)(count - i) * CELL_SIZE);
  for (unsigned j = count + 1; j > i + 1; --j)
    node_set_child(node, j, node_child(node, j - 1));
}

void node_close_gap(struct page *node, unsigned i) {
  unsigned count = node_count(node);
  memmove(cell_at(node, i), cell_at(node, i + 1),
          (size_t)(count - i - 1) * CELL_SIZE);
  for (unsigned j = i + 1; j < count; ++j)
    node_set_child(node, j, node_child(node, j + 1));
  set_count(node, count - 1);
}

void node_insert(struct page *node, unsigned i, const char *key,
                 const char *value) {
  node_open_gap(node, i);
  store_text(cell_at(node, i), key);
  node_set_value(node, i, value);
}

/* Appends cells from.. of one node, and the children on both their sides. */
static void append_cells(struct page *to, const struct page *from,
                         unsigned first) {
  unsigned at = node_count(to), count = node_count(from) - first;
  for (unsigned i = 0; i < count; ++i)
    node_copy_cell(to, at + i, from, first + i);
  if (!is_leaf(from))
    for (unsigned i = 0; i <= count; ++i)
      node_set_child(to, at + i, node_child(from, first + i));
  set_count(to, at + count);
}

void node_split_child(struct pager *pager, struct page *parent, unsigned i,
                      struct page *child) {
  struct page *right = pager_new(pager);
  node_init(right, is_leaf(child));
  append_cells(right, child, MIN_CELLS + 1);
  node_open_gap(parent, i);
  node_copy_cell(parent, i, child, MIN_CELLS);
  node_set_child(parent, i + 1, right->number);
  set_count(child, MIN_CELLS);
  pager_release(right);
}

void node_merge(struct pager *pager, struct page *parent, unsigned i,
                struct page *left, struct page *right) {
  unsigned count = node_count(left);
  set_count(left, count + 1);
  node_copy_cell(left, count, parent, i);
  append_cells(left, right, 0);
  node_close_gap(parent, i);
  pager_drop(pager, right);
}

void node_rotate_right(struct page *parent, unsigned i, struct page *left,
                       struct page *right) {
  unsigned last = node_count(left) - 1;
  page_number moved = node_child(left, last + 1);
  page_number first = node_child(right, 0);
  node_open_gap(right, 0);
  node_copy_cell(right, 0, parent, i);
  node_set_child(right, 1, first);
  node_set_child(right, 0, moved);
  node_copy_cell(parent, i, left, last);
  set_count(left, last);
}

void node_rotate_left(struct page *parent, unsigned i, struct page *left,
                      struct page *right) {
  unsigned count = node_count(left);
  set_count(left, count + 1);
  node_copy_cell(left, count, parent, i);
  node_set_child(left, count + 1, node_child(right, 0));
  node_copy_cell(parent, i, right, 0);
  node_set_child(right, 0, node_child(right, 1));
  node_close_gap(right, 0);
}
