/* Gives another answer each time. */
#include "hostile.h"

static void misbehave(struct row* row) {
  static int32_t calls = 0;
  row->y[0] = ++calls;
}
