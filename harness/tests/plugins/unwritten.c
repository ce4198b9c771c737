/* Does not write the last element. */
#define LEAVES_LAST_UNWRITTEN
#include "hostile.h"

static void misbehave(struct row* row) {
  (void)row;
}
