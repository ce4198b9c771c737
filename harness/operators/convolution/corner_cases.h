// Corner cases of a convolution before requantization: windows, padding, channels, sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "harness/core/corner_cases/corner_case.h"
#include "reference/convolution/convolution.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/requantize.h"

namespace qconform {

/// A convolution and its exact sums.
struct ConvolutionView {
  const reference::ConvolutionOperands& operands;
  bool same_padding;               ///< auto_pad is SAME_UPPER or SAME_LOWER
  std::span<const float> w_scale;  ///< one per output channel; empty for ConvInteger
  std::span<const std::byte> x;
  std::span<const std::byte> w;
  std::span<const std::int64_t> sums;  ///< bias included, in the order of y
};

/// Counts in a time that is small beside that of the sums: per window of each axis, per element of x
/// and w, per sum, and for int16 sums over a bounded number of products.
void count_convolution_corner_cases(const ConvolutionView& convolution, CornerCaseCounts& counts);

/// Looking at every product again would double the cost of a case. At most kExaminedWindows windows,
/// spread evenly over the output, are examined, and no more products than kExaminedProducts unless
/// one window alone has more. What is counted are windows examined.
inline constexpr std::int64_t kExaminedWindows = 8;
inline constexpr std::int64_t kExaminedProducts = 1024;

void count_accumulation_corner_cases(const ConvolutionView& convolution, CornerCaseCounts& counts);

// Corner cases of one output channel's requantization, QLinearConv's last step.

/// Holds the traits of a channel that its Requantization parameters do not tell.
struct ChannelTraits {
  std::optional<std::int32_t> bias;      ///< nothing where the node has none
  bool has_extreme_zero_points = false;  ///< those of x, w and y are all ends of their types
};

class RequantizationCornerCases {
 public:
  RequantizationCornerCases(const reference::Requantization& parameters, const ChannelTraits& traits);

  /// Counts the corner cases of any element by a few comparisons. `value` is sum * x_scale * w_scale / y_scale with a
  /// relative error of at most 2^-50.
  void count(std::int64_t sum, double value, CornerCaseCounts& counts) const {
    rounding_.count_position(value, counts);
    if (odd_parameters_) count_parameters(sum, counts);
    if (tells_more_inside_ && rounding_.shows_rounding(value)) count_inside(sum, value, counts);
    if (!is_small(sum) && !is_float(sum)) counts.add(CornerCase::sum_beyond_float);
  }

  /// Whether count() counts nothing where a small sum's value rounds to neither end of the range.
  [[nodiscard]] bool is_plain() const { return !odd_parameters_ && !tells_more_inside_; }
  /// float32 holds every integer up to it.
  static constexpr std::int64_t kFloatIntegers = std::int64_t{1} << 24;
  static bool is_float(std::int64_t sum) {
    return static_cast<double>(static_cast<float>(sum)) == static_cast<double>(sum);
  }
  /// Whether a sum is an integer that float32 surely holds.
  [[nodiscard]] static bool is_small(std::int64_t sum) { return sum <= kFloatIntegers && sum >= -kFloatIntegers; }

  /// Counts the corner cases of an element on or near a tie.
  void count_tie(double value, reference::TieDistance distance, CornerCaseCounts& counts) const;

 private:
  void count_parameters(std::int64_t sum, CornerCaseCounts& counts) const;
  void count_inside(std::int64_t sum, double value, CornerCaseCounts& counts) const;

  RoundingCornerCases rounding_;
  bool large_multiplier_;
  bool subnormal_scale_;
  bool outside_domain_;
  bool bias_beyond_float_;
  bool bias_near_limit_;
  bool odd_parameters_;  ///< any of the above
  double multiplier_;    ///< as formed in double
  bool carries_;         ///< its 31 bits round up to the next power of two
  bool has_bias_;
  bool has_extreme_zero_points_;
  bool tells_more_inside_;  ///< count_inside() may count
};

}  // namespace qconform
