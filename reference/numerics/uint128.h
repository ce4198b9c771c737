// The old home of uint128 and bit_length.
#pragma once

#include "reference/numerics/wide_integer.h"
