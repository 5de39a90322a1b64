/*===- huffman.c - Canonical Huffman codes --------------------------------===*\
|*                                                                            *|
|* Part of CompilerBridge, under the Apache License v2.0 with LLVM Exceptions.*|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#include "huffman.h"

#include <string.h>

/* A heap of tree nodes, the rarest on top. Leaves come before inner nodes, and
   ties go to the lower index, so that every machine makes the same tree. */
struct heap {
  uint32_t weights[2 * MAX_SYMBOLS];
  uint16_t items[MAX_SYMBOLS + 1];
  unsigned count;
};

static bool comes_before(const struct heap *heap, uint16_t a, uint16_t b) {
  if (heap->weights[a] != heap->weights[b])
    return heap->weights[a] < heap->weights[b];
  return a < b;
}

static void swap_items(struct heap *heap, unsigned i, unsigned j) {
  uint16_t item = heap->items[i];
  heap->items[i] = heap->items[j];
  heap->items[j] = item;
}

static void heap_push(struct heap *heap, uint16_t node) {
  unsigned at = heap->count++;
  heap->items[at] = node;
  while (at) {
    unsigned parent = (at - 1) / 2;
    if (!comes_before(heap, heap->items[at], heap->items[parent]))
      return;
    swap_items(heap, at, parent);
    at = parent;
  }
}

static unsigned smaller_child(const struct heap *heap, unsigned at) {
  unsigned child = 2 * at + 1;
  if (child + 1 < heap->count &&
      comes_before(heap, heap->items[child + 1], heap->items[child]))
    ++child;
  return child;
}

static uint16_t heap_pop(struct heap *heap) {
  uint16_t top = heap->items[0];
  heap->items[0] = heap->items[--heap->count];
  for (unsigned at = 0; 2 * at + 1 < heap->count;) {
    unsigned child = smaller_child(heap, at);
    if (!comes_before(heap, heap->items[child], heap->items[at]))
      break;
    swap_items(heap, at, child);
    at = child;
  }
  return top;
}

/* Fills in the lengths; false if one is too long. */
static bool build_tree(struct code *code, const uint32_t *weights) {
  struct heap heap = {.count = 0};
  uint16_t parents[2 * MAX_SYMBOLS] = {0};
  uint8_t depths[2 * MAX_SYMBOLS] = {0};
  unsigned next = code->symbols;
  for (unsigned i = 0; i < code->symbols; ++i)
    if (weights[i]) {
      heap.weights[i] = weights[i];
      heap_push(&heap, (uint16_t)i);
    }
  if (heap.count == 1)
    code->lengths[heap.items[0]] = 1;
  if (heap.count < 2)
    return true;
  while (heap.count > 1) {
    uint16_t a = heap_pop(&heap), b = heap_pop(&heap);
    heap.weights[next] = heap.weights[a] + heap.weights[b];
    parents[a] = parents[b] = (uint16_t)next;
    heap_push(&heap, (uint16_t)next++);
  }
  for (unsigned node = next - 1; node-- > 0;) {
    if (!parents[node])
      continue;
    depths[node] = (uint8_t)(depths[parents[node]] + 1);
    if (node >= code->symbols)
      continue;
    if (depths[node] > MAX_LENGTH)
      return false;
    code->lengths[node] = depths[node];
  }
  return true;
}

static uint16_t reversed(uint16_t bits, unsigned count) {
  uint16_t result = 0;
  while (count--) {
    result = (uint16_t)(result << 1 | (bits & 1));
    bits >>= 1;
  }
  return result;
}

static void count_lengths(struct code *code) {
  memset(code->counts, 0, sizeof(code->counts));
  for (unsigned i = 0; i < code->symbols; ++i)
    ++code->counts[code->lengths[i]];
  code->counts[0] = 0;
}

static void assign_bits(struct code *code) {
  uint16_t next[MAX_LENGTH + 2] = {0}, place[MAX_LENGTH + 2] = {0};
  count_lengths(code);
  for (unsigned length = 1; length <= MAX_LENGTH; ++length) {
    next[length + 1] = (uint16_t)((next[length] + code->counts[length]) << 1);
    place[length + 1] = (uint16_t)(place[length] + code->counts[length]);
  }
  for (unsigned i = 0; i < code->symbols; ++i) {
    unsigned length = code->lengths[i];
    if (!length)
      continue;
    code->bits[i] = reversed(next[length]++, length);
    code->by_length[place[length]++] = (uint16_t)i;
  }
}

static void code_init(struct code *code, unsigned symbols) {
  memset(code, 0, sizeof(*code));
  code->symbols = symbols;
}

void code_fit(struct code *code, const uint32_t *frequencies,
              unsigned symbols) {
  uint32_t weights[MAX_SYMBOLS];
  memcpy(weights, frequencies, symbols * sizeof(*weights));
  code_init(code, symbols);
  while (!build_tree(code, weights)) {
    /* Flatter weights make a flatter tree. */
    for (unsigned i = 0; i < symbols; ++i)
      weights[i] = weights[i] ? weights[i] / 2 + 1 : 0;
    code_init(code, symbols);
  }
  assign_bits(code);
}

enum { LENGTH_BITS = 4, RUN_BITS = 6, MAX_RUN = 1 << RUN_BITS };

static unsigned zeros_at(const struct code *code, unsigned from) {
  unsigned count = 0;
  while (count < MAX_RUN && from + count < code->symbols &&
         !code->lengths[from + count])
    ++count;
  return count;
}

void code_write(const struct code *code, struct bit_writer *writer) {
  for (unsigned i = 0; i < code->symbols;) {
    unsigned zeros = zeros_at(code, i);
    put_bits(writer, code->lengths[i], LENGTH_BITS);
    if (!zeros) {
      ++i;
      continue;
    }
    put_bits(writer, zeros - 1, RUN_BITS);
    i += zeros;
  }
}

/* More symbols of short lengths than there are bit patterns. */
static bool is_oversubscribed(const struct code *code) {
  int left = 1;
  for (unsigned length = 1; length <= MAX_LENGTH; ++length) {
    left = 2 * left - code->counts[length];
    if (left < 0)
      return true;
  }
  return false;
}

bool code_read(struct code *code, struct bit_reader *reader, unsigned symbols) {
  code_init(code, symbols);
  for (unsigned i = 0; i < symbols;) {
    unsigned length = get_bits(reader, LENGTH_BITS);
    if (length)
      code->lengths[i++] = (uint8_t)length;
    else
      i += get_bits(reader, RUN_BITS) + 1;
    if (reader->failed || i > symbols)
      return false;
  }
  count_lengths(code);
  if (is_oversubscribed(code))
    return false;
  assign_bits(code);
  return true;
}

void put_symbol(const struct code *code, struct bit_writer *writer,
                unsigned symbol) {
  put_bits(writer, code->bits[symbol], code->lengths[symbol]);
}

int get_symbol(const struct code *code, struct bit_reader *reader) {
  int bits = 0, first = 0, place = 0;
  for (unsigned length = 1; length <= MAX_LENGTH; ++length) {
    int count = code->counts[length];
    bits |= (int)get_bits(reader, 1);
    if (bits - first < count)
      return code->by_length[place + bits - first];
    place += count;
    first = (first + count) << 1;
    bits <<= 1;
  }
  return -1;
}
