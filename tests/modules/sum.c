/*===- sum.c - A module in C99: sum: adds up its features -----------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include <cbridge/module.h>

#include <stdlib.h>
#include <string.h>

static const cbridge_host *host;

struct model {
  const cbridge_signature *signature;
  int64_t unit; /* nanoseconds that one counts for; shows an option */
  char wish[32];
};

struct runner {
  const struct model *model;
  double total;
};

static cbridge_code fail(cbridge_code code, const char *why,
                         cbridge_error *error) {
  strncpy(error->message, why, sizeof(error->message) - 1);
  error->message[sizeof(error->message) - 1] = 0;
  return code;
}

static cbridge_code open_model(cbridge_address *address,
                               const cbridge_signature *signature, void **model,
                               cbridge_error *error) {
  struct model *made;
  cbridge_text target = host->target(address), given;
  int64_t unit = 1;
  cbridge_code code = host->duration(address, "unit", 1, &unit, error);
  if (code != CBRIDGE_OK)
    return code;
  if (target.size >= sizeof(made->wish))
    return host->error_at(address, NULL, "expected a short word", error);
  if (host->option(address, "sign", &given) &&
      (given.size != 1 || (*given.data != '+' && *given.data != '-')))
    return host->error_at(address, "sign", "expected + or -", error);
  if (signature->output_count != 1 ||
      signature->outputs[0].type != CBRIDGE_DOUBLE)
    return fail(CBRIDGE_UNSUPPORTED, "sum: decides on one double", error);
  made = calloc(1, sizeof(*made));
  if (!made)
    return fail(CBRIDGE_OUT_OF_MEMORY, "no memory for a model", error);
  made->signature = signature;
  made->unit = unit;
  memcpy(made->wish, target.data, target.size);
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

static cbridge_code run(void *runner, const cbridge_call *call,
                        cbridge_error *error) {
  struct runner *r = runner;
  const cbridge_signature *s = r->model->signature;
  size_t i, e;
  if (strcmp(r->model->wish, "abstain") == 0)
    return fail(CBRIDGE_ABSTAINED, "as you wish", error);
  if (strcmp(r->model->wish, "break") == 0)
    return fail(CBRIDGE_IO, "the abacus broke", error);
  if (strcmp(r->model->wish, "unknown") == 0)
    return fail(4711, "nobody knows this", error);
  if (strcmp(r->model->wish, "silent") == 0)
    return CBRIDGE_UNSUPPORTED;
  r->total = call->has_reward ? call->reward : 0;
  for (i = 0; i < s->input_count; ++i) {
    const cbridge_tensor *in = &call->inputs[i];
    if (s->inputs[i].type == CBRIDGE_INT64)
      for (e = 0; e < in->data.size / sizeof(int64_t); ++e)
        r->total += (double)((const int64_t *)in->data.data)[e];
    else if (s->inputs[i].type == CBRIDGE_FLOAT)
      for (e = 0; e < in->data.size / sizeof(float); ++e)
        r->total += ((const float *)in->data.data)[e];
    else
      r->total += (double)in->data.size;
  }
  r->total *= (double)r->model->unit;
  return CBRIDGE_OK;
}

static cbridge_code output(void *runner, size_t i, cbridge_tensor *to,
                           cbridge_error *error) {
  static const int64_t one[] = {1};
  (void)i;
  (void)error;
  to->extents = one;
  to->data.data = &((struct runner *)runner)->total;
  to->data.size = sizeof(double);
  return CBRIDGE_OK;
}

static const char *const keys[] = {"unit", "sign", NULL};
static const cbridge_runner_type sum = {.size = sizeof(sum),
                                        .scheme = "sum",
                                        .help = "sum: adds up its features",
                                        .keys = keys,
                                        .open = open_model,
                                        .close = close_model,
                                        .new_runner = new_runner,
                                        .delete_runner = delete_runner,
                                        .run = run,
                                        .output = output};
static const cbridge_runner_type *const runners[] = {&sum, NULL};
static const cbridge_module module = {
    sizeof(module), CBRIDGE_MODULE_VERSION, "sum", runners, NULL, NULL, NULL};

const cbridge_module *cbridge_module_v1(const cbridge_host *given) {
  host = given;
  return &module;
}
