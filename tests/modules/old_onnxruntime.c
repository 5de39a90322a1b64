/*===- old_onnxruntime.c - An ONNX Runtime of long ago ------------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/* Packages of the old ones have no library that could be loaded, so that this
   stands in for one. To ask it for a table that it does not have, which makes
   the real ones print, ends the process. */
#include <stdint.h>
#include <stdlib.h>

static const void *get_api(uint32_t version) {
  (void)version;
  abort();
}
static const char *get_version(void) { return "1.8.1"; }

static const struct {
  const void *(*get_api)(uint32_t);
  const char *(*get_version)(void);
} base = {get_api, get_version};

__attribute__((visibility("default"))) const void *OrtGetApiBase(void) {
  return &base;
}
