/* Gives another answer each time. */
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)x;
  static int32_t calls = 0;
  y[0] = ++calls;
}
