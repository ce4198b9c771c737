// Corner cases: situations, by value, in which real kernels go wrong. Coverage is counted by them: a suite
// that reaches none proves little, however many cases it has.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "reference/numerics/element.h"

namespace qconform {

enum class CornerCase : std::uint8_t {
#define QCONFORM_CORNER_CASE(name, ...) name,
#include "harness/core/corner_cases/corner_cases.inc"
#undef QCONFORM_CORNER_CASE
};

inline constexpr std::size_t kCornerCases =
#define QCONFORM_CORNER_CASE(...) 1 +
#include "harness/core/corner_cases/corner_cases.inc"
#undef QCONFORM_CORNER_CASE
    0;

/// Corner cases that come together: an operator that has one of a topic has the others too, as a rule.
enum class CornerCaseTopic : std::uint8_t {
  rounding,        ///< rounding of a value to an integer output, which saturates
  requantization,  ///< requantization of an integer sum with a bias, by several scales
  scales,
  sums,         ///< sums of integer products
  differences,  ///< differences between an input and its zero point
  windows,      ///< windows with padding, strides and dilations
  channels,     ///< channels, groups, batches and the tails of vectors
  elements,     ///< elements of any type, with a scale of their own or of their axis or block
  dequantization,
  graphs,  ///< graphs of several nodes, and how they are fused
};

struct CornerCaseInfo {
  CornerCase corner_case;
  std::string_view id;     ///< "tie-positive"
  std::string_view label;  ///< name of the things that are counted: "positive ties"
  CornerCaseTopic topic;
  std::string_view rules;        ///< ids, separated by spaces
  std::string_view explanation;  ///< two or three sentences
};

/// The corner cases that concern an operator: those of some topics, and further ones.
class CornerCaseSet {
 public:
  constexpr CornerCaseSet(std::initializer_list<CornerCaseTopic> topics = {},
                          std::initializer_list<CornerCase> further = {}) {
    for (const CornerCaseTopic topic : topics) topics_ |= std::uint64_t{1} << static_cast<int>(topic);
    for (const CornerCase corner_case : further) further_[word_of(corner_case)] |= bit_of(corner_case);
  }
  [[nodiscard]] constexpr bool contains(const CornerCaseInfo& info) const {
    return (topics_ >> static_cast<int>(info.topic) & 1U) != 0 ||
           (further_[word_of(info.corner_case)] & bit_of(info.corner_case)) != 0;
  }

 private:
  static constexpr std::size_t word_of(CornerCase corner_case) { return static_cast<std::size_t>(corner_case) / 64; }
  static constexpr std::uint64_t bit_of(CornerCase corner_case) {
    return std::uint64_t{1} << (static_cast<unsigned>(corner_case) % 64);
  }

  std::uint64_t topics_ = 0;
  std::array<std::uint64_t, (kCornerCases + 63) / 64> further_{};
};

/// All corner cases, in the order of the enumeration.
[[nodiscard]] std::span<const CornerCaseInfo> corner_cases();
[[nodiscard]] const CornerCaseInfo& info_of(CornerCase corner_case);
/// The corner case with that id, or null.
[[nodiscard]] const CornerCaseInfo* corner_case_with_id(std::string_view id);

/// How many elements of one case reach each corner case. Output elements, or input elements where the
/// corner case is about an input; windows examined for the corner cases of int16 sums
/// (harness/operators/convolution/corner_cases.cc).
class CornerCaseCounts {
 public:
  void add(CornerCase corner_case, std::int64_t elements = 1) {
    counts_[static_cast<std::size_t>(corner_case)] += static_cast<std::uint64_t>(elements);
  }
  [[nodiscard]] std::uint64_t operator[](CornerCase corner_case) const {
    return counts_[static_cast<std::size_t>(corner_case)];
  }
  [[nodiscard]] const std::array<std::uint64_t, kCornerCases>& all() const { return counts_; }

 private:
  std::array<std::uint64_t, kCornerCases> counts_{};
};

// Corner cases of rounding to an integer output: ties, near ties, the ends of the range.

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
