/* Changes the second pixel of x, as it lies with the channels last. */
#define BEYOND ((uint8_t*)x->data)[x->dims[3]] ^= 1
#include "pixels.h"
