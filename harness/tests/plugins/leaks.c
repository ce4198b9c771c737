/* Keeps 1 MiB of each node that is prepared, and is right. */
#define LOSES_BYTES (1 << 20)
#include "row.h"
