/* Does not write the last element. */
#define LEAVES_LAST_UNWRITTEN
#include "row.h"
