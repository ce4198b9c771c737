/* Reads the byte behind the weights. */
#include "hostile.h"

static void misbehave(struct row* row) {
  row->y[0] += *(volatile const int8_t*)(row->w + row->taps) * 0;
}
