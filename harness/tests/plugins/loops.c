/* Never returns. */
#include "hostile.h"

static void misbehave(struct row* row) {
  volatile int32_t* first = row->y;
  for (;;) *first = *first;
}
