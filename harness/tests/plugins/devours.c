/* Allocates without bound. */
#include "hostile.h"

static void misbehave(struct row* row) {
  const size_t block = (size_t)1 << 20;
  char* volatile memory; /* or the compiler leaves the allocation out */
  (void)row;
  do {
    memory = malloc(block);
    if (memory != NULL) memset(memory, 1, block);
  } while (memory != NULL);
  abort();
}
