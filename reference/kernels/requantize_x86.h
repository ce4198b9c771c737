// Requantization with 256 and with 512 bits shares this code, for the ISA files alone (internal linkage, see
// panel_product.h). Four vectors of sums are taken at a time: in fixed point, in float32, or in two halves of double.
// Every rounding to an integer but that to fixed point states its mode; comparisons are written so that NaN takes the
// branch that the reference takes (MAXPS and MINPS return their second operand).
#pragma once

#include <immintrin.h>

#include "reference/kernels/requantize_fast.h"

namespace qconform::reference {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// Four vectors of 32-bit integers become one of bytes by saturating narrowing, which clamps to the range of y.
constexpr int kQuad = 4;

}  // namespace
}  // namespace qconform::reference
