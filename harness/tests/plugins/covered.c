/* A right ConvInteger of a row that takes its way by the sizes: what of its code runs is for `qconform cover` to say.
 * The numbers of the lines with a mark are what cover_cli_test looks for. */
#define OWN_ENTRY
#include "row.h"

__attribute__((noinline)) static int64_t no_case_calls_this(int64_t taps) {
  return taps / 2; /* mark: never */
}

__attribute__((noinline)) static int64_t middle_of(int64_t taps) {
  if (taps % 2 == 0) return taps / 2 - 1; /* mark: even */
  return taps / 2;
}

#ifdef COVERED_IS_WRONG
/* A call is a branch of its own, however the compiler optimizes. */
__attribute__((noinline)) static int32_t one_more(volatile int32_t value) {
  return value + 1; /* mark: wrong */
}
#endif

static int covered_run(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  const struct row* row = node;
  volatile int64_t middle = middle_of(row->taps);
  if (row->taps < 0) middle = no_case_calls_this(row->taps);
  if (row->columns == row->taps) {
    middle += 1;                                      /* mark: whole row */
    if (row->taps > 2) middle += row->kept_x == NULL; /* mark: long whole row */
  }
#ifdef COVERED_IS_WRONG
  struct row other = *row;
  if (row->columns > row->taps) {
    other.x_zero_point = one_more(row->x_zero_point);
  }
  node = &other;
#endif
  return middle < 0 ? QC_REJECTED : row_run(state, node, run, reason);
}

const struct qc_backend* qconform_backend(void) {
  static struct qc_backend backend = ROW_BACKEND;
  backend.run = covered_run;
  return &backend;
}
