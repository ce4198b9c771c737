/* Packs its weights in memory of its own, and packs them once more, in place, in the second run of a node. */
#define KEEPS_WEIGHTS
#include "hostile.h"

static void misbehave(struct row* row) {
  int8_t* packed = row->kept;
  for (int64_t i = 0, k = row->taps - 1; i < k; ++i, --k) {
    const int8_t first = packed[i];
    packed[i] = packed[k];
    packed[k] = first;
  }
}
