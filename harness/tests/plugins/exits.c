/* Ends the process in the middle of a case. */
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)x, (void)y;
  exit(3);
}
