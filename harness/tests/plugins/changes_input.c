/* Writes to its input. */
#include "hostile.h"

static void misbehave(struct row* row) {
  *(uint8_t*)(uintptr_t)row->x ^= 1;
}
