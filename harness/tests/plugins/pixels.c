/* Right. */
#include "pixels.h"
