/* Right. */
#include "pixels_2.h"
