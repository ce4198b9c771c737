/* Writes to where nothing is, and says so first. */
#include "hostile.h"

static void misbehave(struct row* row) {
  volatile uintptr_t address = 64;
  (void)row;
  fputs("about to write to address 64\n", stderr);
  *(volatile char*)address = 1;
}
