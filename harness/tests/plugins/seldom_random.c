/* Gives another first element in some runs, whatever ran before. */
#include "hostile.h"

static void misbehave(struct row* row) {
  static uint32_t state = 12345;
  state = state * 1664525u + 1013904223u;
  if (state >> 30 == 0) row->y[0] += 1 + (int32_t)(state >> 8 & 0xFF);
}
