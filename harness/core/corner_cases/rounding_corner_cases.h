// Corner cases of rounding to an integer output: ties, near ties, the ends of the range.
#pragma once

#include <cmath>
#include <cstdint>

#include "harness/core/corner_cases/corner_case.h"
#include "reference/numerics/element.h"

namespace qconform {

/// The output range of one scale and zero point, seen from values before rounding.
class RoundingCornerCases {
 public:
  RoundingCornerCases(reference::IntegerRange range, std::int32_t zero_point)
      : lo_(range.lo - zero_point), hi_(range.hi - zero_point), odd_zero_point_(zero_point % 2 != 0) {}

  /// Counts the corner cases of where `value` lies relative to the range. It may be infinite, but not NaN.
  void count_position(double value, CornerCaseCounts& counts) const {
    if (value < lo_ + 0.5) {
      count_low(value, counts);
    } else if (value > hi_ - 0.5) {
      count_high(value, counts);
    }
  }

  /// Whether both neighbours of `value` are outputs without saturation: only then does a tie show.
  [[nodiscard]] bool shows_rounding(double value) const { return value > lo_ && value < hi_; }

  /// Counts an exact tie at `value`.
  void count_tie(double value, CornerCaseCounts& counts) const {
    if (!shows_rounding(value)) return;
    counts.add(value > 0 ? CornerCase::tie_positive : CornerCase::tie_negative);
    if (odd_zero_point_) counts.add(CornerCase::tie_odd_zero_point);
  }

  /// `value` is no tie, but may lie within `width` of one, relative to itself.
  void count_near_tie(double value, double width, CornerCaseCounts& counts) const {
    if (!shows_rounding(value)) return;
    const double off = value - (std::floor(value) + 0.5);
    if (off == 0 || std::fabs(off) > width * std::fabs(value)) return;
    counts.add(off > 0 ? CornerCase::near_tie_above : CornerCase::near_tie_below);
  }

 private:
  void count_low(double value, CornerCaseCounts& counts) const {
    if (value >= lo_ - 0.5) return counts.add(CornerCase::edge_low);
    counts.add(CornerCase::clamp_low);
    if (value > lo_ - 1.5) counts.add(CornerCase::edge_below);
    if (value <= -kInt32) counts.add(CornerCase::conversion_overflow);
  }
  void count_high(double value, CornerCaseCounts& counts) const {
    if (value <= hi_ + 0.5) return counts.add(CornerCase::edge_high);
    counts.add(CornerCase::clamp_high);
    if (value < hi_ + 1.5) counts.add(CornerCase::edge_above);
    if (value >= kInt32) counts.add(CornerCase::conversion_overflow);
  }

  static constexpr double kInt32 = 0x1p31;
  double lo_;
  double hi_;
  bool odd_zero_point_;
};

}  // namespace qconform
