/* Writes one byte past its scratch memory. */
#define SCRATCH_BEYOND ((size_t)dims[2] * sizeof *sums)
#include "row.h"
