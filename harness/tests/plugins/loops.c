/* Never returns. */
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)x;
  volatile int32_t* first = y;
  for (;;) *first = *first;
}
