/*===- plugin.c - A pass plugin that only tells that it was loaded --------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* In C, names are C's. NOLINTBEGIN(readability-identifier-naming) */

/* What llvm/Passes/PassPlugin.h has, for version 1 of its interface. */
struct plugin_info {
  uint32_t api_version;
  const char *name, *version;
  void (*register_callbacks)(void *pass_builder);
};

/* One line per compile in $CBRIDGE_TEST_LOG: which model it was told, and which
   features beyond LLVM's. */
static void tell(void *pass_builder) {
  const char *log = getenv("CBRIDGE_TEST_LOG");
  const char *model = getenv("CBRIDGE_INLINE_MODEL");
  const char *features = getenv("CBRIDGE_INLINE_FEATURES");
  FILE *file = log ? fopen(log, "a") : NULL;
  (void)pass_builder;
  if (!file)
    return;
  fprintf(file, "%s%s%s\n", model ? model : "(none)", features ? " " : "",
          features ? features : "");
  fclose(file);
}

__attribute__((visibility("default"))) struct plugin_info
llvmGetPassPluginInfo(void) {
  struct plugin_info info = {1, "test", "1", tell};
  return info;
}

/* As if it had the policy. */
__attribute__((visibility("default"))) const char cbridge_policy_InlineOz[] =
    "native:InlineOz";

/* NOLINTEND(readability-identifier-naming) */
