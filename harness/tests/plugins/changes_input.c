/* Writes to its input. */
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)y;
  *(uint8_t*)(uintptr_t)x ^= 1;
}
