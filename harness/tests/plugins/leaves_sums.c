/* Adds to the first element what a row of 5 left behind, which it takes away. */
#include <stdint.h>

struct row;
static void misbehave(const struct row* row, const uint8_t* x, int32_t* y);
#define MISBEHAVES
static int left;
#define RUNS(row) \
  if ((row)->columns == 5) left = 1
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)x;
  y[0] += left;
  left = 0;
}
