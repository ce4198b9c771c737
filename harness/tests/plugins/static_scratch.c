/* Sums up in memory that all its threads share. Nothing is wrong as long as there is one. */
#define MISBEHAVES
#include "row.h"

#include <sched.h>

static volatile int32_t scratch[13];

static void misbehave(const struct row* row, const uint8_t* x, int32_t* y) {
  const int64_t count = row->columns - row->taps + 1;
  for (int64_t i = 0; i < count; ++i) scratch[i] = 0;
  for (int64_t k = 0; k < row->taps; ++k) {
    for (int64_t i = 0; i < count; ++i) scratch[i] += x[i + k] * row->w[k];
    sched_yield(); /* the next core has time for the same */
  }
  for (int64_t i = 0; i < count; ++i) y[i] = scratch[i];
}
