// The right values of one output element, whichever operator computes it: the judge decides by them, and readers and
// other programs are told them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"

namespace qconform::reference {

/// The number that a pattern of an integer or boolean type stands for; uint64 values above 2^63 - 1 wrap.
[[nodiscard]] constexpr std::int64_t integer_of(ElementType type, std::uint64_t bits) {
  if (!is_signed_integer(type)) return static_cast<std::int64_t>(bits);
  const int unused = 64 - bits_of(type);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

/// Holds bit patterns of the element's type, as they are stored. AdmissibleSet holds integers before they have a type,
/// to unite and compare the tiers of one sum, and graph::Bounds real ends for all elements of a value.
struct RightValues {
  /// All numbers from lo to hi, both included, and zero of either sign where zero is among them. Equal ends stand for
  /// this one pattern.
  struct Range {
    std::uint64_t lo;
    std::uint64_t hi;
  };

  ElementType type = ElementType::undefined;
  std::vector<Range> ranges = {};  ///< in the reader's order
  bool any_value = false;          ///< every pattern, NaN too; there are no ranges
  bool any_nan = false;            ///< NaN with any payload and sign
  bool either_zero = false;        ///< +0 and -0
  const char* rule = "";           ///< the first rule of those given to admit...() that leaves the answer open

  /// Adds a pattern; there are no wider ranges. `by` is the rule that allows it; it counts when the pattern is not the
  /// first one, which is the answer of the scalar reference.
  void admit(std::uint64_t bits, const char* by) {
    if (any_value || std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return r.lo == bits; })) return;
    if (!ranges.empty()) open_by(by);
    ranges.push_back({bits, bits});
  }
  void admit_any_value(const char* by) {
    any_value = true;
    ranges.clear();
    open_by(by);
  }
  void admit_any_nan(const char* by) {
    if (has_one_nan_and_zero()) return admit(float_format(type).sign_bit(), by);
    any_nan = true;
    open_by(by);
  }
  void admit_either_zero(const char* by) {
    if (has_one_nan_and_zero()) return admit(0, by);
    either_zero = true;
    open_by(by);
  }

  [[nodiscard]] bool contains(std::uint64_t bits) const {
    const auto has = [&](const Range& r) { return r.lo == r.hi ? r.lo == bits : lies_in(r, bits); };
    if (any_value || std::any_of(ranges.begin(), ranges.end(), has)) return true;
    if (is_integer_or_boolean(type) || (!any_nan && !either_zero)) return false;
    const FloatFormat& format = float_format(type);
    return (any_nan && is_nan(format, bits)) || (either_zero && is_zero(format, bits));
  }
  /// Whether there is one pattern only.
  [[nodiscard]] bool is_single() const {
    return !any_value && !any_nan && !either_zero && ranges.size() == 1 && ranges.front().lo == ranges.front().hi;
  }

 private:
  [[nodiscard]] bool lies_in(const Range& range, std::uint64_t bits) const {
    const auto lies_between = [&](auto number_of) {
      return number_of(type, range.lo) <= number_of(type, bits) && number_of(type, bits) <= number_of(type, range.hi);
    };
    return is_integer_or_boolean(type) ? lies_between(integer_of) : lies_between(value_of);
  }
  // The formats whose NaN is the pattern of -0.
  [[nodiscard]] bool has_one_nan_and_zero() const {
    return !is_integer(type) && float_format(type).specials == Specials::unsigned_zero_nan;
  }
  void open_by(const char* by) {
    if (rule[0] == '\0') rule = by;
  }
};

}  // namespace qconform::reference
