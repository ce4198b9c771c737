/* Writes a pixel beyond y. */
#define BEYOND memcpy(y + dims[1] * dims[2] * dims[3], sums, (size_t)dims[3] * sizeof *y)
#include "pixels.h"
