/* Writes one byte before its scratch memory. */
#define SCRATCH_BEYOND -1
#include "row.h"
