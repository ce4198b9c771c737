/* Reads the first byte of a pixel beyond x, as it lies with the channels last. */
#define BEYOND y[0] += ((const volatile uint8_t*)pixels)[x->bytes] * 0
#include "pixels.h"
