/* Gives another first element in some runs, whatever ran before. */
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)x;
  static uint32_t state = 12345;
  state = state * 1664525u + 1013904223u;
  if (state >> 30 == 0) y[0] += 1 + (int32_t)(state >> 8 & 0xFF);
}
