/* Reads the byte behind the weights. */
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)x;
  y[0] += *(volatile const int8_t*)(row->w + row->taps) * 0;
}
