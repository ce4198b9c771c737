/* Remembers the weights that lay at an address when it first saw it. */
#define MISBEHAVES
#include "row.h"

#define ROOM 4096

static struct {
  const int8_t* address;
  int8_t weights[8];
} cache[ROOM];
static int64_t cached;

static const int8_t* weights_at(const int8_t* address, int64_t taps) {
  for (int64_t i = 0; i < cached; ++i) {
    if (cache[i].address == address) return cache[i].weights;
  }
  if (cached == ROOM || taps > (int64_t)sizeof cache->weights) return address;
  cache[cached].address = address;
  memcpy(cache[cached].weights, address, (size_t)taps);
  return cache[cached++].weights;
}

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  const int8_t* w = weights_at(row->w, row->taps);
  for (int64_t i = 0; i <= row->columns - row->taps; ++i) {
    y[i] = 0;
    for (int64_t k = 0; k < row->taps; ++k) y[i] += x[i + k] * w[k];
  }
}
