// Floating-point formats by definition: every number listed, the nearest one found by search.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <vector>

#include "reference/numerics/floats.h"

namespace qconform::reference::oracle {

/// Holds the facts that the documents of a format state, written down independently of FloatFormat.
struct FormatFacts {
  const char* name;
  ElementType type;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_sign;
  double largest;
  double smallest;        ///< positive
  std::vector<int> nans;  ///< patterns without sign, or the full pattern where NaN has none
  int infinity;           ///< its pattern without sign; -1: none
  bool has_negative_zero;
};

/// The formats of at most 16 bits.
[[nodiscard]] const std::vector<FormatFacts>& small_formats();

/// (-1)^s * 1.m * 2^(e - bias), or 0.m * 2^(1 - bias). The pattern is a finite number.
[[nodiscard]] mpq_class definition(const FormatFacts& format, std::uint64_t bits);

/// The positive numbers of a format with sign in ascending order, zero first, then the number that
/// would follow the largest; and the midpoints between neighbours. All of them are doubles.
class NumberLine {
 public:
  explicit NumberLine(const FormatFacts& format);

  /// The position of the nearest number to a magnitude, ties to the even position; `overflow()` when
  /// it is the one that would follow the largest.
  [[nodiscard]] std::uint64_t nearest(double magnitude) const;
  [[nodiscard]] std::uint64_t nearest(const mpq_class& magnitude) const;
  [[nodiscard]] std::uint64_t overflow() const { return midpoints_.size(); }
  [[nodiscard]] const std::vector<double>& midpoints() const { return midpoints_; }

 private:
  std::vector<double> midpoints_;
};

/// The pattern that ONNX's tables of casts give for any double.
[[nodiscard]] std::uint64_t expected_pattern(const FormatFacts& format, const NumberLine& line, double value,
                                             bool saturate);

/// Returns the facts of a type, one of small_formats().
[[nodiscard]] const FormatFacts& facts_of(ElementType type);

/// Returns the numbers of float16 or bfloat16.
[[nodiscard]] const NumberLine& line_of(ElementType type);

/// RN to float32, float64, float16 or bfloat16 by definition; the value itself for `none`. The value must
/// not overflow.
[[nodiscard]] mpq_class rn(ElementType type, const mpq_class& value);

}  // namespace qconform::reference::oracle
