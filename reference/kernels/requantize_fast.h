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
// A value that fails this test needs exact arithmetic and goes to round_scaled_exactly: less than one in 2^30 of
// arbitrary values, and every exact tie. If sx*sw/sy is itself a number of at most 21 significant bits, which holds for
// powers of two, then c and p (32 + 21 bits) are exact and nothing needs exact arithmetic.
//
// Before that, vectors of channels try float32, at a third of the cost:
//   c' = RN32(c), p' = RN32(RN32(A)*c'): three more roundings, each with a relative error of at most
//   2^-24 (2^-23 under a directed mode), so |p' - v| <= |v| * 3.01 * 2^-23 < 2^-13 for |v| <= 2^8.
// Beyond 2^8 - 2^-13 both saturate every 8-bit output, whether before or after rounding. Within it
// |p' - rne(p')| < 1/2 - 2^-13 implies that v rounds to the same value; other vectors, one in 260 of
// arbitrary values, take the double path. c' must lie within [2^-100, 2^60], or nothing is certain. If c is a power of
// two of at least 2^-15, then p' is exact for |A| <= 2^24, and larger A saturate: nothing needs exact arithmetic.
//
// Fixed point is cheaper still, where |A| is known to be so small that |A*c| < 2^15 - 2^9 and c is not such a power of
// two. With u = 2^-16 as the unit and z the zero point of y,
//   t = floor(RN32(RN32(A)*(c' * 2^16) + o)),  o = (z * 2^16) + 2^15 + kFixedOffset, an integer below 2^24 in
//   magnitude.
// For |v| <= 2^8: A and c' contribute |v/u| * 2.01 * 2^-23 < 4.1, and the fused sum, below 2^25, less than 2. So
// before it is rounded down it is within 7 of v/u + o. Where the lower 16 bits of t are at least kFixedNeedsExactBelow,
// which exceeds kFixedOffset + 7, its upper bits are rne(v) + z: v + 1/2 + z is above them, by more than 0, and below
// the next integer, because kFixedOffset is at least 7. Without a fused product there is one more rounding, below 2,
// and rounding t in any other way changes it by less than 1: kFixedOffset and kFixedNeedsExactBelow leave room for that
// too. Beyond 2^8 both saturate: the upper bits fit int16, and saturate when they are narrowed.
//
// The float profiles are sequences of IEEE operations; kernels perform the same ones, and nothing needs more.
#pragma once

#include <cstdint>

#include "reference/numerics/requantize.h"

namespace qconform::reference {

/// One output channel's parameters in the form that vector code takes. Plain data.
struct FastRequantization {
  double multiplier;              ///< correctly_rounded: c above
  double needs_exact_from;        ///< correctly_rounded: p needs exact arithmetic when |p - rne(p)| >= this
  float narrow_multiplier;        ///< correctly_rounded: c' above
  float narrow_needs_exact_from;  ///< correctly_rounded: p' needs exact arithmetic when |p' - rne(p')| >= this
  float float_multiplier;         ///< ort_f32 and onnx_reference: c of those profiles
  std::int32_t zero_point;
  std::int32_t lo;  ///< the ends of the output's range
  std::int32_t hi;
};

/// p is clamped to [-kRequantizationBound, kRequantizationBound] before it is rounded.
inline constexpr double kRequantizationBound = 1024;

[[nodiscard]] FastRequantization fast_requantization(const Requantization& parameters);

inline constexpr std::int32_t kFixedOne = 1 << 16;
inline constexpr std::int32_t kFixedOffset = 12;
inline constexpr std::int32_t kFixedNeedsExactBelow = 24;

/// Whether fixed point may be used for sums of at most `largest` in magnitude.
[[nodiscard]] bool takes_fixed_point(const FastRequantization& channel, double largest);

/// The parameters of consecutive output channels, an array each. Plain data.
struct RequantizeChannels {
  const float* multiplier;        ///< correctly_rounded: c'; of the other profiles their c
  const float* needs_exact_from;  ///< correctly_rounded: p' needs exact arithmetic when |p' - rne(p')| >= this
  const double* exact_multiplier;
  const double* wide_needs_exact_from;
  std::int32_t zero_point;
  std::int32_t lo;
  std::int32_t hi;
  const float* fixed_multiplier = nullptr;  ///< correctly_rounded: c' * 2^16; null unless all channels take fixed point
};

}  // namespace qconform::reference
