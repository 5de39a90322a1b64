/*===- coin.c - A module that decides by chance: coin:SEED ----------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 Decisions depend on the seed, the context and how many decisions there were
 before in it, so that a compile can be repeated. An integer is 0 or 1, or,
 where the pass has a feature `mask`, a place where that is set; a float is in
 [0, 1000000). `break_after=N`: the model breaks after N decisions; `wrong=1`:
 decisions are out of any range.
*/
#include <cbridge/module.h>

#include <stdlib.h>
#include <string.h>

static const cbridge_host *host;

struct model {
  const cbridge_signature *signature;
  uint64_t seed, break_after;
  int wrong;
  size_t mask; /* which input; SIZE_MAX if none */
};

struct runner {
  const struct model *model;
  uint64_t context, count;
  union {
    int64_t integer;
    float real;
  } decision;
};

static cbridge_code fail(cbridge_code code, const char *why,
                         cbridge_error *error) {
  strncpy(error->message, why, sizeof(error->message) - 1);
  error->message[sizeof(error->message) - 1] = 0;
  return code;
}

/* SplitMix64's finalizer. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static uint64_t hash(cbridge_text text) {
  uint64_t h = 1469598103934665603u;
  size_t i;
  for (i = 0; i < text.size; ++i)
    h = (h ^ (unsigned char)text.data[i]) * 1099511628211u;
  return h;
}

static uint64_t number(cbridge_text text) {
  char digits[24] = {0};
  if (text.size < sizeof(digits))
    memcpy(digits, text.data, text.size);
  return strtoull(digits, NULL, 10);
}

static cbridge_code open_model(cbridge_address *address,
                               const cbridge_signature *signature, void **model,
                               cbridge_error *error) {
  struct model *made;
  cbridge_text given;
  size_t i;
  int32_t type = signature->outputs[0].type;
  if (signature->output_count != 1 ||
      (type != CBRIDGE_INT64 && type != CBRIDGE_FLOAT))
    return fail(CBRIDGE_UNSUPPORTED, "coin: decides on one int64 or float",
                error);
  made = calloc(1, sizeof(*made));
  if (!made)
    return fail(CBRIDGE_OUT_OF_MEMORY, "no memory for a model", error);
  made->signature = signature;
  made->seed = number(host->target(address));
  made->break_after = UINT64_MAX;
  if (host->option(address, "break_after", &given))
    made->break_after = number(given);
  made->wrong = host->option(address, "wrong", &given);
  made->mask = SIZE_MAX;
  for (i = 0; i < signature->input_count; ++i)
    if (signature->inputs[i].name.size == 4 &&
        memcmp(signature->inputs[i].name.data, "mask", 4) == 0)
      made->mask = i;
  *model = made;
  return CBRIDGE_OK;
}

static void close_model(void *model) { free(model); }

static cbridge_code new_runner(void *model, void **runner,
                               cbridge_error *error) {
  struct runner *made = calloc(1, sizeof(*made));
  if (!made)
    return fail(CBRIDGE_OUT_OF_MEMORY, "no memory for a runner", error);
  made->model = model;
  *runner = made;
  return CBRIDGE_OK;
}

static void delete_runner(void *runner) { free(runner); }

static int64_t place(const cbridge_tensor *mask, uint64_t random) {
  const int64_t *set = mask->data.data;
  size_t size = mask->data.size / sizeof(*set), i, legal = 0;
  for (i = 0; i < size; ++i)
    legal += set[i] != 0;
  if (!legal)
    return 0;
  random %= legal;
  for (i = 0; i < size; ++i)
    if (set[i] != 0 && random-- == 0)
      return (int64_t)i;
  return 0;
}

static cbridge_code run(void *runner, const cbridge_call *call,
                        cbridge_error *error) {
  struct runner *r = runner;
  const struct model *m = r->model;
  uint64_t context = hash(call->context), random;
  if (context != r->context)
    r->count = 0;
  r->context = context;
  if (r->count++ >= m->break_after)
    return fail(CBRIDGE_IO, "the coin broke", error);
  random = mix(m->seed * 0x9e3779b97f4a7c15u + mix(context + r->count));
  if (m->signature->outputs[0].type == CBRIDGE_FLOAT)
    r->decision.real = m->wrong ? -1e30f : (float)(random % 1000000);
  else if (m->wrong)
    r->decision.integer = 4711;
  else if (m->mask != SIZE_MAX)
    r->decision.integer = place(&call->inputs[m->mask], random);
  else
    r->decision.integer = (int64_t)(random >> 63);
  return CBRIDGE_OK;
}

static cbridge_code output(void *runner, size_t i, cbridge_tensor *to,
                           cbridge_error *error) {
  static const int64_t one[] = {1};
  struct runner *r = runner;
  (void)i;
  (void)error;
  to->extents = one;
  to->data.data = &r->decision;
  to->data.size = r->model->signature->outputs[0].type == CBRIDGE_FLOAT
                      ? sizeof(r->decision.real)
                      : sizeof(r->decision.integer);
  return CBRIDGE_OK;
}

static const char *const keys[] = {"break_after", "wrong", NULL};
static const cbridge_runner_type coin = {.size = sizeof(coin),
                                         .scheme = "coin",
                                         .help = "coin:SEED decides by chance",
                                         .keys = keys,
                                         .open = open_model,
                                         .close = close_model,
                                         .new_runner = new_runner,
                                         .delete_runner = delete_runner,
                                         .run = run,
                                         .output = output};
static const cbridge_runner_type *const runners[] = {&coin, NULL};
static const cbridge_module module = {
    sizeof(module), CBRIDGE_MODULE_VERSION, "coin", runners, NULL, NULL, NULL};

const cbridge_module *cbridge_module_v1(const cbridge_host *given) {
  host = given;
  return &module;
}
