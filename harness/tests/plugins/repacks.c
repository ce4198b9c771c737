/* Packs its weights in memory of its own, and packs them once more, in place, in the second run of a node. */
#define KEEPS_WEIGHTS
#define MISBEHAVES
#include "row.h"

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  (void)x, (void)y;
  int8_t* packed = row->kept_w;
  for (int64_t i = 0, k = row->taps - 1; i < k; ++i, --k) {
    const int8_t first = packed[i];
    packed[i] = packed[k];
    packed[k] = first;
  }
}
