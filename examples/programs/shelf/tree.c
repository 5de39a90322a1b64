/*===- tree.c - A sorted map in a file ------------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "tree.h"

#include <string.h>

void tree_init(struct pager *pager) {
  struct page *root = pager_new(pager);
  node_init(root, true);
  pager->root = root->number;
  pager_release(root);
}

static struct page *get_child(struct pager *pager, const struct page *node,
                              unsigned i) {
  return pager_get(pager, node_child(node, i));
}

/* Goes on from a node to its child, which may be the only one in use then. */
static struct page *descend(struct pager *pager, struct page *node,
                            unsigned i) {
  struct page *child = get_child(pager, node, i);
  pager_release(node);
  return child;
}

static struct page *grow_root(struct pager *pager, struct page *old) {
  struct page *root = pager_new(pager);
  node_init(root, false);
  node_set_child(root, 0, old->number);
  node_split_child(pager, root, 0, old);
  pager->root = root->number;
  pager_release(old);
  return root;
}

bool tree_put(struct pager *pager, const char *key, const char *value) {
  struct page *node = pager_get(pager, pager->root);
  if (is_full(node))
    node = grow_root(pager, node);
  for (;;) {
    bool found;
    unsigned i = node_find(node, key, &found);
    struct page *child;
    if (found || is_leaf(node)) {
      if (found)
        node_set_value(node, i, value);
      else
        node_insert(node, i, key, value);
      pager_release(node);
      return !found;
    }
    child = get_child(pager, node, i);
    if (is_full(child)) {
      node_split_child(pager, node, i, child);
      pager_release(child);
      continue; /* the key may be the one that moved up */
    }
    pager_release(node);
    node = child;
  }
}

bool tree_get(struct pager *pager, const char *key, char *value) {
  struct page *node = pager_get(pager, pager->root);
  for (;;) {
    bool found;
    unsigned i = node_find(node, key, &found);
    if (found)
      memcpy(value, node_value(node, i), TEXT_SIZE);
    if (found || is_leaf(node)) {
      pager_release(node);
      return found;
    }
    node = descend(pager, node, i);
  }
}

/* Copies the largest (or smallest) cell below child into cell i of node. */
static void pull_up(struct pager *pager, struct page *node, unsigned i,
                    const struct page *child, bool largest) {
  struct page *at = pager_get(pager, child->number);
  while (!is_leaf(at))
    at = descend(pager, at, largest ? node_count(at) : 0);
  node_copy_cell(node, i, at, largest ? node_count(at) - 1 : 0);
  pager_release(at);
}

/* The key is in this inner node: a neighbour from below takes its place, and
   is then the one to delete there. Gives the child where to go on. */
static struct page *replace_in_node(struct pager *pager, struct page *node,
                                    unsigned i, char *key) {
  struct page *left = get_child(pager, node, i);
  struct page *right = get_child(pager, node, i + 1);
  if (can_give(left)) {
    pull_up(pager, node, i, left, true);
    memcpy(key, node_key(node, i), TEXT_SIZE);
    pager_release(right);
    return left;
  }
  if (can_give(right)) {
    pull_up(pager, node, i, right, false);
    memcpy(key, node_key(node, i), TEXT_SIZE);
    pager_release(left);
    return right;
  }
  node_merge(pager, node, i, left, right);
  return left;
}

/* Child i, with at least one cell more than it needs. */
static struct page *enriched_child(struct pager *pager, struct page *node,
                                   unsigned i) {
  struct page *child = get_child(pager, node, i), *sibling;
  if (can_give(child))
    return child;
  if (i > 0) {
    sibling = get_child(pager, node, i - 1);
    if (can_give(sibling)) {
      node_rotate_right(node, i - 1, sibling, child);
      pager_release(sibling);
      return child;
    }
    if (i == node_count(node)) {
      node_merge(pager, node, i - 1, sibling, child);
      return sibling;
    }
    pager_release(sibling);
  }
  sibling = get_child(pager, node, i + 1);
  if (can_give(sibling)) {
    node_rotate_left(node, i, child, sibling);
    pager_release(sibling);
  } else {
    node_merge(pager, node, i, child, sibling);
  }
  return child;
}

static void shrink_root(struct pager *pager) {
  struct page *root = pager_get(pager, pager->root);
  if (node_count(root) || is_leaf(root)) {
    pager_release(root);
    return;
  }
  pager->root = node_child(root, 0);
  pager_drop(pager, root);
}

bool tree_delete(struct pager *pager, const char *wanted) {
  struct page *node = pager_get(pager, pager->root);
  char key[TEXT_SIZE];
  bool found;
  snprintf(key, sizeof(key), "%s", wanted);
  for (;;) {
    unsigned i = node_find(node, key, &found);
    struct page *child;
    if (is_leaf(node)) {
      if (found)
        node_close_gap(node, i);
      pager_release(node);
      break;
    }
    child = found ? replace_in_node(pager, node, i, key)
                  : enriched_child(pager, node, i);
    pager_release(node);
    node = child;
  }
  shrink_root(pager);
  return found;
}

struct scan {
  const char *from, *to;
  visit_cell *visit;
  void *context;
};

static void scan_node(struct pager *pager, page_number number,
                      const struct scan *scan) {
  struct page *node = pager_get(pager, number);
  bool found;
  unsigned i = node_find(node, scan->from, &found);
  for (;; ++i) {
    if (!is_leaf(node))
      scan_node(pager, node_child(node, i), scan);
    if (i == node_count(node) || strcmp(node_key(node, i), scan->to) > 0)
      break;
    scan->visit(scan->context, node_key(node, i), node_value(node, i));
  }
  pager_release(node);
}

void tree_scan(struct pager *pager, const char *from, const char *to,
               visit_cell *visit, void *context) {
  struct scan scan = {from, to, visit, context};
  scan_node(pager, pager->root, &scan);
}

static void check_node(struct pager *pager, page_number number, unsigned depth,
                       struct shape *shape) {
  struct page *node = pager_get(pager, number);
  unsigned count = node_count(node);
  ++shape->nodes;
  shape->cells += count;
  if (depth > 1 && count < MIN_CELLS)
    ++shape->errors;
  for (unsigned i = 1; i < count; ++i)
    shape->errors += strcmp(node_key(node, i - 1), node_key(node, i)) >= 0;
  if (is_leaf(node)) {
    if (!shape->depth)
      shape->depth = depth;
    shape->errors += shape->depth != depth;
  } else {
    for (unsigned i = 0; i <= count; ++i)
      check_node(pager, node_child(node, i), depth + 1, shape);
  }
  pager_release(node);
}

struct shape tree_check(struct pager *pager) {
  struct shape shape = {0};
  check_node(pager, pager->root, 1, &shape);
  return shape;
}
