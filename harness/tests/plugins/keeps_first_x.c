/* Copies the first x of each pair of weights, in all nodes that are prepared: a newly prepared one is wrong too. */
#include <stdint.h>

struct row;
static const uint8_t* kept(struct row* row, const uint8_t* x);
#define KEEPS_X kept
#include "row.h"

static const uint8_t* kept(struct row* row, const uint8_t* x) {
  static uint8_t first[16];
  static int8_t weights[16];
  static int has_first;
  const size_t taps = (size_t)row->taps;
  if (taps > sizeof weights) return x;
  if (!has_first) memcpy(first, x, 13), memcpy(weights, row->w, taps);
  has_first = 1;
  return memcmp(weights, row->w, taps) == 0 ? first : x;
}
