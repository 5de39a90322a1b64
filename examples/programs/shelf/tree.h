/*===- tree.h - A sorted map in a file ----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef SHELF_TREE_H
#define SHELF_TREE_H

#include "node.h"

typedef void visit_cell(void *context, const char *key, const char *value);

struct shape {
  unsigned depth, nodes, cells, errors;
};

void tree_init(struct pager *pager);
/* True if the key is new. */
bool tree_put(struct pager *pager, const char *key, const char *value);
/* Copies the value to value[TEXT_SIZE]. */
bool tree_get(struct pager *pager, const char *key, char *value);
bool tree_delete(struct pager *pager, const char *key);
/* Visits the keys from..to, both included, in order. */
void tree_scan(struct pager *pager, const char *from, const char *to,
               visit_cell *visit, void *context);
/* Looks at every node. */
struct shape tree_check(struct pager *pager);

#endif
