/* Writes the byte before the output. */
#include "hostile.h"

static void misbehave(struct row* row) {
  ((volatile char*)row->y)[-1] = 1;
}
