/*===- module.h - Runners, serializers, channels in a .so ---------*- C -*-===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
/*
 A module is a shared library `cbridge-NAME.so` that exports one function,
 cbridge_module_v1, and adds runners, serializers and channels. One of any name
 may have a compiled model. C99 and C++.

 Conventions:
 1. The host loads a module once (RTLD_NOW | RTLD_LOCAL), calls
    cbridge_module_v1 once, and never unloads it. The table it returns, and
    everything the table points to, lives as long as the process.
 2. Structs begin with their size as their maker compiled it and only ever grow
    at the end. A function pointer that is marked optional may be NULL.
 3. A function that can fail returns a code, 0 for success. Before it returns
    another, it writes a NUL-terminated message that names the culprit to
    error->message, and it leaves its outputs as they were.
 4. No C++ exception, longjmp or exit leaves a function, in either direction.
    A module does not print and raises no signals.
 5. Pointers to handles are the module's own; the host passes them back and
    destroys each once. Models, and the creation of runners and serializers,
    are used from any thread at any time; every other handle by one thread at a
    time, not always the same.
 6. Arguments are valid during the call only, unless said otherwise. What a
    function lends is valid until the next call for the same handle, unless
    said otherwise.
 7. Deadlines are absolute nanoseconds of CLOCK_MONOTONIC; CBRIDGE_NEVER never
    passes. A function with a deadline returns CBRIDGE_TIMEOUT soon after it. A
    deadline that has passed means: do what is possible without waiting.
 8. Texts and names may hold any byte and are not NUL-terminated, unless they
    are a plain `const char *`.
 9. A tensor's elements lie in row-major order, little-endian, aligned to their
    size. Bools are 0 or 1. The data of a string tensor is count + 1 offsets
    (uint64_t, the first 0), then the characters that they delimit.
10. The host does not trust sizes, extents and contents that a module reports:
    what is wrong fails, with the module's name in the message.
*/
#ifndef CBRIDGE_MODULE_H
#define CBRIDGE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the tables below. Another one is refused. */
#define CBRIDGE_MODULE_VERSION 1
#define CBRIDGE_NEVER INT64_MAX
#define CBRIDGE_MAX_RANK 8
#define CBRIDGE_HEADER_SIZE 64

/* What functions return: the numbers of cbridge::StatusCode. Append-only. */
typedef int32_t cbridge_code;
enum {
  CBRIDGE_OK = 0,
  CBRIDGE_INVALID_ARGUMENT = 1, /* the runner string is wrong */
  CBRIDGE_TYPE_MISMATCH = 2,
  CBRIDGE_SHAPE_MISMATCH = 3,
  CBRIDGE_ABSTAINED = 4, /* no decision this time, on purpose */
  CBRIDGE_ILLEGAL_DECISION = 5,
  CBRIDGE_PEER_ERROR = 6,
  CBRIDGE_UNAVAILABLE = 7, /* this and those up to IO close the model */
  CBRIDGE_TIMEOUT = 8,
  CBRIDGE_PEER_CLOSED = 9,
  CBRIDGE_PROTOCOL = 10,
  CBRIDGE_IO = 11,
  CBRIDGE_OUT_OF_MEMORY = 12,
  CBRIDGE_FORKED = 13,
  CBRIDGE_UNSUPPORTED = 14,
  CBRIDGE_MODEL_ERROR = 15 /* the model failed; the next decision may work */
};

/* Owned by the caller; nothing to free. */
typedef struct cbridge_error {
  char message[1024];
} cbridge_error;

/* The numbers of cbridge::ElementType. Append-only. */
enum {
  CBRIDGE_BOOL = 0,
  CBRIDGE_INT8 = 1,
  CBRIDGE_INT16 = 2,
  CBRIDGE_INT32 = 3,
  CBRIDGE_INT64 = 4,
  CBRIDGE_UINT8 = 5,
  CBRIDGE_UINT16 = 6,
  CBRIDGE_UINT32 = 7,
  CBRIDGE_UINT64 = 8,
  CBRIDGE_FLOAT = 9,
  CBRIDGE_DOUBLE = 10,
  CBRIDGE_STRING = 11
};

typedef struct cbridge_text {
  const char *data;
  size_t size;
} cbridge_text;

typedef struct cbridge_bytes {
  const void *data;
  size_t size;
} cbridge_bytes;

/* The structs from here to cbridge_tensor stand in arrays and do not grow. */
typedef struct cbridge_spec {
  cbridge_text name;
  int32_t type;
  uint32_t rank;
  const int64_t *shape; /* -1: varies */
} cbridge_spec;

typedef struct cbridge_tensor {
  const int64_t *extents; /* as many as its spec's rank */
  cbridge_bytes data;
} cbridge_tensor;

typedef struct cbridge_signature {
  size_t size;
  const cbridge_spec *inputs, *outputs;
  size_t input_count, output_count;
} cbridge_signature;

/*===- What the host has for modules --------------------------------------===*/

/* A parsed runner string or address, during the call that it is given to. */
typedef struct cbridge_address cbridge_address;
/* A message under construction: its own bytes first, then lent pieces. */
typedef struct cbridge_message cbridge_message;
/* Where decoded tensors go. */
typedef struct cbridge_decoded cbridge_decoded;
/* Files to poll for reading. */
typedef struct cbridge_files cbridge_files;

typedef struct cbridge_host {
  size_t size;
  uint32_t version;

  /* `scheme:target?key=value`: all of it, and the percent-decoded target. */
  cbridge_text (*text)(const cbridge_address *);
  cbridge_text (*target)(const cbridge_address *);
  /* Whether the option is given; if so, *value is it, percent-decoded. */
  int (*option)(cbridge_address *, const char *key, cbridge_text *value);
  /* `10s`, `250ms`; `64k`, `1G`. */
  cbridge_code (*duration)(const cbridge_address *, const char *key,
                           int64_t default_ns, int64_t *ns, cbridge_error *);
  cbridge_code (*byte_size)(const cbridge_address *, const char *key,
                            uint64_t default_size, uint64_t *size,
                            cbridge_error *);
  /* Writes a message that points at the value of key, or at the target if key
     is NULL; returns CBRIDGE_INVALID_ARGUMENT. */
  cbridge_code (*error_at)(const cbridge_address *, const char *key,
                           const char *why, cbridge_error *);

  /* Room for size more own bytes, or NULL; how many of them were written; and
     bytes of the encoded tensors that are not copied. Own bytes come first. */
  void *(*room)(cbridge_message *, size_t size);
  void (*wrote)(cbridge_message *, size_t size);
  void (*lend)(cbridge_message *, cbridge_bytes piece);

  /* Memory for elements that do not lie in the payload, aligned to 64 bytes,
     or NULL. Called at most once per decode. */
  void *(*backing)(cbridge_decoded *, size_t size);
  /* Sets tensor i; its bytes lie in the payload or in the backing. */
  cbridge_code (*set)(cbridge_decoded *, size_t i, const cbridge_tensor *,
                      cbridge_error *);

  void (*add_file)(cbridge_files *, int file);
} cbridge_host;

/*===- Runners ------------------------------------------------------------===*/

typedef struct cbridge_call {
  size_t size;
  int64_t until;
  cbridge_text context; /* what is being compiled */
  int has_reward;       /* of the runner's previous decision */
  double reward;
  int truncated; /* of end_episode: cut short */
  /* The features, if the host keeps them; else NULL. */
  const cbridge_tensor *inputs;
} cbridge_call;

typedef struct cbridge_runner_type {
  size_t size;
  const char *scheme; /* `scheme:` in runner strings */
  const char *help;   /* one line for people */
  /* Options beside those that every scheme has, ending with NULL; or NULL. */
  const char *const *keys;

  /* Once per model. The signature lives as long as the model. Fails with
     CBRIDGE_INVALID_ARGUMENT if the string is wrong, and with any other code if
     the model cannot be had now. */
  cbridge_code (*open)(cbridge_address *, const cbridge_signature *,
                       void **model, cbridge_error *);
  void (*close)(void *model); /* after its runners */

  cbridge_code (*new_runner)(void *model, void **runner, cbridge_error *);
  void (*delete_runner)(void *runner);
  /* Evaluates: reads the inputs, leaves them as they were, makes the outputs.
     Codes that mean a broken transport close the whole model. */
  cbridge_code (*run)(void *runner, const cbridge_call *, cbridge_error *);
  /* An output, valid until the next run. */
  cbridge_code (*output)(void *runner, size_t i, cbridge_tensor *,
                         cbridge_error *);
  /* Optional: the decisions so far belong together and are over. */
  cbridge_code (*end_episode)(void *runner, const cbridge_call *,
                              cbridge_error *);

  /* Optional, all three or none: the runner has the memory for its inputs.
     Fixed ones never move; others are valid until their next resize. Without
     them the host has it, and passes them to run. */
  cbridge_code (*input)(void *runner, size_t i, void **data, size_t *size,
                        cbridge_error *);
  cbridge_code (*resize)(void *runner, size_t i, const int64_t *extents,
                         cbridge_error *);
  cbridge_code (*set_strings)(void *runner, size_t i,
                              const cbridge_text *values, size_t count,
                              const int64_t *extents, cbridge_error *);

  /* Optional, if the module has a channel of the same scheme: whether this
     string is for the runner. Without it, all are. */
  int (*claims)(cbridge_address *);

  /* Optional: what the model takes and gives by itself, by which its user can
     open it. Calls tell once, with a signature that is valid until it returns.
     Fails as open does. */
  cbridge_code (*describe)(cbridge_address *,
                           void (*tell)(void *to, const cbridge_signature *),
                           void *to, cbridge_error *);
} cbridge_runner_type;

/*===- Serializers --------------------------------------------------------===*/

typedef struct cbridge_serializer_type {
  size_t size;
  const char *name; /* `serdes=name` */
  cbridge_code (*create)(void **serializer, cbridge_error *);
  void (*destroy)(void *serializer);
  /* Tensors may be lent to the message, and be read up to the next multiple of
     64 bytes. */
  cbridge_code (*encode)(void *serializer, const cbridge_spec *,
                         const cbridge_tensor *, size_t count,
                         cbridge_message *, cbridge_error *);
  /* Sets every tensor. The payload comes from outside: checks everything. It is
     aligned to 64 bytes if it comes from a channel. The lent pieces continue
     it; they belong to another process, which may change them at any time. */
  cbridge_code (*decode)(void *serializer, cbridge_bytes payload,
                         const cbridge_bytes *lent, size_t lent_count,
                         const cbridge_spec *, size_t count, cbridge_decoded *,
                         cbridge_error *);
  int decodes_lent; /* else there are never lent pieces */
} cbridge_serializer_type;

/*===- Channels -----------------------------------------------------------===*/

typedef struct cbridge_channel_options {
  size_t size;
  int64_t until;        /* when connecting, or listening, must have worked */
  uint64_t max_message; /* larger payloads are refused without memory */
  int lifeline; /* a file whose hang-up ends every wait of a listener, or -1 */
} cbridge_channel_options;

/* header has CBRIDGE_HEADER_SIZE bytes, see docs/formats/frame.md; the lent
   pieces continue the payload, if lend_payloads was called. Its size field is
   set by the host. */
typedef struct cbridge_frame {
  size_t size;
  const unsigned char *header;
  cbridge_bytes payload; /* aligned to 64 bytes */
  const cbridge_bytes *lent;
  size_t lent_count;
} cbridge_frame;

typedef struct cbridge_channel_type {
  size_t size;
  const char *scheme;
  const char *help;
  const char *const *keys;
  /* Sessions run at the same time; else compilers wait for each other. */
  int many_sessions;

  /* The compiler's end and the peer's. Codes as for cbridge_runner_type.open.
   */
  cbridge_code (*connect)(cbridge_address *, const cbridge_channel_options *,
                          void **channel, cbridge_error *);
  cbridge_code (*listen)(cbridge_address *, const cbridge_channel_options *,
                         void **listener, cbridge_error *);

  /* Of a channel: one end of one session. After a failure it is only closed;
     but a receive that timed out may be called again and goes on. */
  void (*close)(void *channel);
  /* For messages: who is at the other end. Valid until close. */
  cbridge_text (*name)(void *channel);
  cbridge_code (*send)(void *channel, const unsigned char *header,
                       const cbridge_bytes *payload, size_t pieces,
                       int64_t until, cbridge_error *);
  cbridge_code (*receive)(void *channel, int64_t until, cbridge_frame *,
                          cbridge_error *);
  /* Keeps the latest payload beyond the next receive, and beyond close, until
     released, by any thread. Cannot fail. */
  void *(*keep)(void *channel);
  void (*release)(void *kept);
  /* Whether a frame is known to have come; asks memory, not the kernel. */
  int (*ready)(void *channel);
  /* Before a sleep that ends when one of the added files can be read: 0 if a
     frame has come meanwhile. After it; woken: one of those files ended it. */
  int (*begin_wait)(void *channel, cbridge_files *);
  void (*end_wait)(void *channel, int woken); /* optional */
  /* The other end does not behave: close waits for it no longer than that. */
  void (*abandon)(void *channel, int64_t until); /* optional */
  /* Optional. How to wait for the next frame before sleeping: 0 not at all, 1
     by letting the other end run on this core, 2 by looking again and again. */
  int (*spinning)(void *channel);
  void (*lend_payloads)(void *channel); /* optional */

  /* Of a listener: the same, for sessions. A time-out is no failure of it. */
  void (*close_listener)(void *listener);
  cbridge_code (*accept)(void *listener, int64_t until, void **channel,
                         cbridge_error *);
  int (*listener_ready)(void *listener);
  int (*listener_begin_wait)(void *listener, cbridge_files *);
  void (*listener_end_wait)(void *listener, int woken); /* optional */

  /* Optional: `scheme:target` as a compiler must write it, if the listener has
     chosen a part of it. Valid until close_listener. */
  cbridge_text (*listener_address)(void *listener);
  /* Optional: the serializer of strings that name none. */
  const char *serdes;
  /* Options that an address to listen at may have, ending with NULL; or NULL.
   */
  const char *const *listen_keys;
  /* Optional, of a channel: whether the other end has left, whatever it has
     said before. */
  int (*gone)(void *channel);
} cbridge_channel_type;

/*===- Compiled models ----------------------------------------------------===*/

/* Models that `cbridge compile` has made, for `native:`. The two structs that
   come first stand in arrays and do not grow. An instance is used by one thread
   at a time. */

/* An extent that varies from one evaluation to the next. */
typedef struct cbridge_native_symbol {
  const char *name;
  int64_t maximum;
  void (*set)(void *instance, int64_t extent); /* from 0 to maximum */
} cbridge_native_symbol;

/* An input or an output. */
typedef struct cbridge_native_port {
  cbridge_spec spec; /* no strings; -1: varies */
  size_t capacity;   /* elements that there is memory for */
  /* That memory, which never moves. Its elements are dense: those of the
     present extents come first. */
  void *(*data)(void *instance);
  /* Of an input whose extents vary: the symbol that each of them is, or -1 if
     that one does not. Else NULL. */
  const int32_t *symbols;
  /* Of an output whose extents vary: writes all of them, as the symbols are
     set. Else NULL. */
  void (*extents)(const void *instance, int64_t *to);
} cbridge_native_port;

typedef struct cbridge_native_model {
  size_t size;
  const char *name; /* `native:name`, if it is linked in */
  const char *help; /* one line for people */
  const cbridge_native_port *inputs, *outputs;
  size_t input_count, output_count;
  const cbridge_native_symbol *symbols;
  size_t symbol_count;

  /* Weights of another file fit if this and their size are equal. */
  unsigned char fingerprint[32];
  uint64_t weights_size;
  int weights_embedded; /* else use_weights comes before evaluate */

  /* Instruction sets, by the number that construct gets, each of which includes
     those before it; ends with NULL. And which is the last that this machine
     has. */
  const char *const *levels;
  int (*best_level)(void); /* NOLINT(modernize-redundant-void-arg) */

  /* The memory for an instance, which the host provides. None of the functions
     allocates. */
  size_t instance_size, instance_alignment;
  void (*construct)(void *memory, int level);
  void (*destroy)(void *instance);
  /* Bytes aligned to 64 that outlive the instance. */
  void (*use_weights)(void *instance, const void *weights);
  /* Reads the inputs, leaves them as they were, fills the outputs. NULL, or why
     it failed: a text that lives as long as the process. */
  const char *(*evaluate)(void *instance);
} cbridge_native_model;

/*===- The module ---------------------------------------------------------===*/

typedef struct cbridge_module {
  size_t size;
  uint32_t version; /* CBRIDGE_MODULE_VERSION */
  const char *name; /* for messages */
  /* What it adds, each list ending with NULL; or NULL. */
  const cbridge_runner_type *const *runners;
  const cbridge_serializer_type *const *serializers;
  const cbridge_channel_type *const *channels;
  const cbridge_native_model *const *models;
} cbridge_module;

#if defined(__GNUC__)
#define CBRIDGE_MODULE_EXPORT __attribute__((visibility("default")))
#else
#define CBRIDGE_MODULE_EXPORT
#endif

/* NULL: the module cannot work with this host. */
CBRIDGE_MODULE_EXPORT const cbridge_module *
cbridge_module_v1(const cbridge_host *host);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CBRIDGE_MODULE_H */
