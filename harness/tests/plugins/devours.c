/* Allocates without bound. */
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)row, (void)x, (void)y;
  const size_t block = (size_t)1 << 20;
  char* volatile memory; /* or the compiler leaves the allocation out */
  do {
    memory = malloc(block);
    if (memory != NULL) memset(memory, 1, block);
  } while (memory != NULL);
  abort();
}
