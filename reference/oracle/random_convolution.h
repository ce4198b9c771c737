// Random values and convolutions for the reference's own tests: the same on every machine for the same seed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "reference/convolution/convolution.h"
#include "reference/numerics/requantize.h"
#include "reference/oracle/definitions.h"

namespace qconform::reference::oracle {

/// std::mt19937_64 has a specified output; std:: distributions have not and are not used.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// In [lo, hi], both included.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    const auto first = static_cast<std::uint64_t>(lo);
    const std::uint64_t count = static_cast<std::uint64_t>(hi) - first + 1;  // 0 for all of them
    return static_cast<std::int64_t>(first + (count == 0 ? engine_() : engine_() % count));
  }

  bool one_in(std::int64_t count) { return between(1, count) == 1; }

  /// A magnitude of 1 to `bits` bits, every length equally likely, with a random sign.
  std::int64_t of_any_length(int bits) {
    const auto length = static_cast<int>(between(1, bits));
    const std::int64_t top = std::int64_t{1} << (length - 1);
    const std::int64_t magnitude = top + between(0, top - 1);
    return one_in(2) ? magnitude : -magnitude;
  }

  /// Any finite float that is not zero, every bit pattern equally likely: subnormals included.
  float any_float() {
    for (;;) {
      const auto bits = static_cast<std::uint32_t>(engine_());
      if ((bits & 0x7F800000U) != 0x7F800000U && (bits & 0x7FFFFFFFU) != 0) return std::bit_cast<float>(bits);
    }
  }

  /// A positive float in [2^lo, 2^(hi+1)), normal; exponent and fraction uniform.
  float positive_float(int lo, int hi) {
    const auto biased = static_cast<std::uint32_t>(between(lo, hi) + 127);
    return std::bit_cast<float>(biased << 23 | static_cast<std::uint32_t>(between(0, 0x7FFFFF)));
  }

 private:
  std::mt19937_64 engine_;
};

/// Returns the parameters in the oracle's terms.
[[nodiscard]] inline ChannelParameters for_oracle(const Requantization& p) {
  return {p.x_scale, p.w_scale, p.y_scale, p.y_zero_point, p.y_range.lo, p.y_range.hi};
}

// Small random convolutions for the reference's own tests, in its terms and in the oracle's.

/// A convolution with its data, and the sums that it must give.
struct RandomConvolution {
  ConvolutionOperands operands;
  std::vector<std::byte> x;
  std::vector<std::byte> w;
  IntegerTensor expected;   ///< by the oracle: exact, bias included
  bool has_padding_window;  ///< some window lies wholly in the padding
};

/// 1 to 4 spatial dimensions, any types, groups, strides, dilations, explicit or SAME padding, zero
/// points per channel. A bias, where there is one, uses the whole int32 range.
[[nodiscard]] RandomConvolution random_convolution(Random& random);

}  // namespace qconform::reference::oracle
