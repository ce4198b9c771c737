// Requantization in floating point that is exact nevertheless: what optimized kernels use in place
// of the reference's 128-bit integers.
//
// correctly_rounded. Let v = A*sx*sw/sy be the exact value, A a 32-bit integer.
//   c = RN64(sx*sw/sy)   sx*sw is exact in double (24+24 bits), so c carries one rounding
//   p = RN64(A*c)        A is exact in double, so p carries one more
// Exponents stay within [-426, 437]: no overflow, no subnormals. Each rounding has a relative error
// of at most 2^-53 (2^-52 under a directed rounding mode of the processor), so
//   |p - v| <= |v| * 2^-50.
// p is then clamped to [-2^10, 2^10]. Beyond 2^9 both v and p saturate every 8-bit output whatever
// its zero point. Below 2^10 the error is at most 2^-40. So, with n = rne(p):
//   |p - n| < 1/2 - 2^-32   implies   |v - n| < 1/2   and   rne(v) = n.
// What fails this test is "in doubt" and goes to round_scaled_exactly: less than one in 2^30 of
// arbitrary values, and every exact tie. If sx*sw/sy is itself a number of at most 21 significant
// bits, which holds for powers of two, then c and p (32 + 21 bits) are exact and nothing is in doubt.
//
// The float profiles are sequences of IEEE operations; kernels perform the same ones, never in doubt.
#pragma once

#include <cstdint>

#include "reference/numerics/requantize.h"

namespace qconform::reference {

/// One output channel's parameters in the form that vector code takes. Plain data.
struct FastRequantization {
  double multiplier;       ///< correctly_rounded: c above
  double doubt;            ///< correctly_rounded: p is in doubt when |p - rne(p)| >= doubt
  float float_multiplier;  ///< ort_f32 and onnx_reference: c of those profiles
  std::int32_t zero_point;
  std::int32_t lo;  ///< of the output's range
  std::int32_t hi;
};

/// p is clamped to [-kRequantizationBound, kRequantizationBound] before it is rounded.
inline constexpr double kRequantizationBound = 1024;

[[nodiscard]] FastRequantization fast_requantization(const Requantization& parameters);

/// Requantizes `count` sums of one output channel, a multiple of 8 and at most 64, into as many
/// bytes of y. Bit i of the result is set when element i is in doubt; y[i] must then be replaced.
using RequantizeRow = std::uint64_t (*)(const std::int32_t* sums, int count, const FastRequantization* channel,
                                        std::uint8_t* y);

/// One instruction set's requantization, indexed by RoundingProfile.
struct RequantizeLeaves {
  RequantizeRow row[3];
};

}  // namespace qconform::reference
