/*===- hostile.c - Modules that are wrong, chosen by -DHOSTILE_... --------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include <cbridge/module.h>

#include <string.h>

#if defined(HOSTILE_SYMBOL)

/* No cbridge_module_v1. */
int cbridge_nothing(void);
int cbridge_nothing(void) { return 0; }

#elif defined(HOSTILE_VERSION)

static const cbridge_module module = {sizeof(module), 7,    "version", NULL,
                                      NULL,           NULL, NULL};
const cbridge_module *cbridge_module_v1(const cbridge_host *host) {
  (void)host;
  return &module;
}

#elif defined(HOSTILE_REFUSES)

const cbridge_module *cbridge_module_v1(const cbridge_host *host) {
  (void)host;
  return NULL;
}

#elif defined(HOSTILE_NULLS)

/* A runner, a serializer and a channel without functions. */
#if HOSTILE_NULLS == 1
static const cbridge_runner_type runner = {.size = sizeof(runner),
                                           .scheme = "nulls1"};
#elif HOSTILE_NULLS == 2
/* As an older host or module would have it: it ends behind its name. */
static const cbridge_serializer_type serializer = {
    .size = offsetof(cbridge_serializer_type, create), .name = "nulls2"};
#elif HOSTILE_NULLS == 3
static const cbridge_channel_type channel = {.size = sizeof(channel),
                                             .scheme = "nulls3"};
#endif
#if HOSTILE_NULLS == 1
static const cbridge_runner_type *const runners[] = {&runner, NULL};
#else
static const cbridge_runner_type *const *const runners = NULL;
#endif
#if HOSTILE_NULLS == 2
static const cbridge_serializer_type *const serializers[] = {&serializer, NULL};
#else
static const cbridge_serializer_type *const *const serializers = NULL;
#endif
#if HOSTILE_NULLS == 3
static const cbridge_channel_type *const channels[] = {&channel, NULL};
#else
static const cbridge_channel_type *const *const channels = NULL;
#endif
const cbridge_module *cbridge_module_v1(const cbridge_host *host) {
  static cbridge_module module;
  (void)host;
  module.size = sizeof(module);
  module.version = CBRIDGE_MODULE_VERSION;
  module.runners = runners;
  module.serializers = serializers;
  module.channels = channels;
  return &module;
}

#else

/* liar:WISH reports nonsense; serdes=liar does, too, by the first byte. */

static const cbridge_host *host;
static char wish[16];
static double memory[4];

static cbridge_code open_model(cbridge_address *address,
                               const cbridge_signature *signature, void **model,
                               cbridge_error *error) {
  cbridge_text target = host->target(address);
  (void)signature;
  (void)model;
  (void)error;
  memset(wish, 0, sizeof(wish));
  memcpy(wish, target.data,
         target.size < sizeof(wish) ? target.size : sizeof(wish) - 1);
  return CBRIDGE_OK;
}
static void close_model(void *model) { (void)model; }
static cbridge_code new_runner(void *model, void **runner,
                               cbridge_error *error) {
  (void)model;
  (void)runner;
  (void)error;
  return CBRIDGE_OK;
}
static cbridge_code run(void *runner, const cbridge_call *call,
                        cbridge_error *error) {
  (void)runner;
  (void)call;
  (void)error;
  return CBRIDGE_OK;
}
static cbridge_code output(void *runner, size_t i, cbridge_tensor *to,
                           cbridge_error *error) {
  static const int64_t one[] = {1}, huge[] = {INT64_MAX}, negative[] = {-1};
  (void)runner;
  (void)i;
  (void)error;
  to->extents = one;
  to->data.data = memory;
  to->data.size = sizeof(double);
  if (strcmp(wish, "size") == 0)
    to->data.size = (size_t)1 << 60;
  else if (strcmp(wish, "extents") == 0)
    to->extents = huge;
  else if (strcmp(wish, "negative") == 0)
    to->extents = negative;
  else if (strcmp(wish, "noextents") == 0)
    to->extents = NULL;
  else if (strcmp(wish, "null") == 0)
    to->data.data = NULL;
  else if (strcmp(wish, "unaligned") == 0)
    to->data.data = (char *)memory + 1;
  return CBRIDGE_OK;
}
static cbridge_code input(void *runner, size_t i, void **data, size_t *size,
                          cbridge_error *error) {
  (void)runner;
  (void)i;
  (void)error;
  *data = memory;
  *size = strcmp(wish, "input") == 0 ? 3 : sizeof(double);
  return CBRIDGE_OK;
}
static cbridge_code resize(void *runner, size_t i, const int64_t *extents,
                           cbridge_error *error) {
  (void)runner;
  (void)i;
  (void)extents;
  (void)error;
  return CBRIDGE_OK;
}
static cbridge_code set_strings(void *runner, size_t i,
                                const cbridge_text *values, size_t count,
                                const int64_t *extents, cbridge_error *error) {
  (void)runner;
  (void)i;
  (void)values;
  (void)count;
  (void)extents;
  (void)error;
  return CBRIDGE_OK;
}

static cbridge_code describe(cbridge_address *address,
                             void (*tell)(void *to, const cbridge_signature *),
                             void *to, cbridge_error *error) {
  static const int64_t shape[] = {-2};
  cbridge_text target = host->target(address);
  cbridge_spec spec = {{"x", 1}, CBRIDGE_DOUBLE, 1, shape};
  cbridge_signature own = {sizeof(own), &spec, &spec, 1, 1};
  (void)error;
  switch (target.size ? *target.data : 0) {
  case 'c': /* more tensors than there are */
    own.input_count = SIZE_MAX;
    break;
  case 'n':
    own.outputs = NULL;
    break;
  case 'r':
    spec.rank = 9;
    break;
  case 's':
    spec.shape = NULL;
    break;
  case 't':
    spec.type = 99;
    break;
  case 'e': /* an extent of -2 */
    break;
  default: /* nothing at all */
    return CBRIDGE_OK;
  }
  tell(to, &own);
  return CBRIDGE_OK;
}

static cbridge_code create(void **serializer, cbridge_error *error) {
  (void)serializer;
  (void)error;
  return CBRIDGE_OK;
}
static void destroy(void *serializer) { (void)serializer; }
static cbridge_code encode(void *serializer, const cbridge_spec *specs,
                           const cbridge_tensor *tensors, size_t count,
                           cbridge_message *to, cbridge_error *error) {
  (void)serializer;
  (void)specs;
  (void)tensors;
  (void)count;
  (void)error;
  host->room(to, 8);
  host->wrote(to, (size_t)1 << 40);
  return CBRIDGE_OK;
}
static cbridge_code decode(void *serializer, cbridge_bytes payload,
                           const cbridge_bytes *lent, size_t lent_count,
                           const cbridge_spec *specs, size_t count,
                           cbridge_decoded *to, cbridge_error *error) {
  static const int64_t huge[] = {(int64_t)1 << 40}, one[] = {1};
  cbridge_tensor t;
  (void)serializer;
  (void)lent;
  (void)lent_count;
  (void)specs;
  (void)count;
  t.extents = one;
  t.data = payload;
  switch (payload.size ? *(const char *)payload.data : 0) {
  case 'o': /* outside of the payload */
    t.data.data = memory;
    t.data.size = sizeof(double);
    break;
  case 'l': /* longer than the payload */
    t.extents = huge;
    t.data.size = sizeof(double) << 40;
    break;
  case 'm': /* more tensors than there are */
    return host->set(to, 17, &t, error);
  case 'b': /* more memory than there is */
    if (!host->backing(to, SIZE_MAX / 2))
      return CBRIDGE_OUT_OF_MEMORY;
    break;
  default: /* nothing at all */
    return CBRIDGE_OK;
  }
  return host->set(to, 0, &t, error);
}

static const cbridge_runner_type liar = {.size = sizeof(liar),
                                         .scheme = "liar",
                                         .open = open_model,
                                         .close = close_model,
                                         .new_runner = new_runner,
                                         .delete_runner = close_model,
                                         .run = run,
                                         .output = output,
                                         .input = input,
                                         .resize = resize,
                                         .set_strings = set_strings,
                                         .describe = describe};
static const cbridge_runner_type *const runners[] = {&liar, NULL};
static const cbridge_serializer_type codec = {
    sizeof(codec), "liar", create, destroy, encode, decode, 0};
static const cbridge_serializer_type *const serializers[] = {&codec, NULL};
static const cbridge_module module = {sizeof(module),
                                      CBRIDGE_MODULE_VERSION,
                                      "liar",
                                      runners,
                                      serializers,
                                      NULL,
                                      NULL};

const cbridge_module *cbridge_module_v1(const cbridge_host *given) {
  host = given;
  return &module;
}

#endif
